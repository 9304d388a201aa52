"""`python -m tussle` is the command `tussle`, for a Python whose scripts are not on PATH."""

from tussle.cli import main

if __name__ == "__main__":
    main()
