"""The one error that users see."""


class TussleError(Exception):
    """Something that the user can put right: the message is the whole sentence (what, where, what next).

    The command line prints it to stderr as `tussle: …` and exits with status 2. A file with several
    problems gives one line for each.
    """
