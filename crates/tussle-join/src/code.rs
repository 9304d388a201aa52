//! The one-time code that the server prints, and that each client is given.

use std::fmt;
use std::str::FromStr;

/// Crockford's base 32, in which no two letters look alike.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Letters of a code, of five bits each: 100 bits, too many to be guessed from a recorded handshake.
const LETTERS: usize = 20;
/// Letters between two hyphens.
const GROUP: usize = 4;

/// A code of 20 letters in groups of four, such as `8Z2K-QT6N-04HW-7XRC-M5PD`.
#[derive(Clone, PartialEq, Eq)]
pub struct Code([u8; LETTERS]);

/// Reason why a text is not a code, in words that follow "the code".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotACode {
    /// The number of letters is wrong.
    #[error("has {0} letters and digits; a code has {LETTERS}, in groups of four")]
    Length(usize),
    /// A character outside the alphabet.
    #[error("has {0:?}, which is in no code")]
    Character(char),
}

impl Code {
    /// The pre-shared key of the handshake, padded with zeros.
    pub(crate) fn key(&self) -> [u8; 32] {
        let mut key = [0; 32];
        key[..LETTERS].copy_from_slice(&self.0);
        key
    }
}

impl FromStr for Code {
    type Err = NotACode;

    /// Reads a typed code: lower case, any hyphens or spaces, O for 0, and I or L for 1.
    fn from_str(text: &str) -> Result<Code, NotACode> {
        let mut letters = Vec::with_capacity(LETTERS);
        let typed = text.chars().filter(|letter| *letter != '-' && !letter.is_whitespace());
        let mut count = 0;
        for letter in typed {
            count += 1;
            let read = match letter.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                other => other,
            };
            let known = ALPHABET.iter().find(|known| char::from(**known) == read);
            letters.extend(
                known.ok_or(NotACode::Character(letter)).map(|known| (count <= LETTERS).then_some(*known))?,
            );
        }
        letters.try_into().ok().filter(|_| count == LETTERS).map(Code).ok_or(NotACode::Length(count))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (index, letter) in self.0.iter().enumerate() {
            if index > 0 && index % GROUP == 0 {
                write!(out, "-")?;
            }
            write!(out, "{}", char::from(*letter))?;
        }
        Ok(())
    }
}

/// Debug output leaves the secret out.
impl fmt::Debug for Code {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "Code(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_people_type_it() {
        let code: Code = "8Z2K-QT6N-04HW-7XRC-M5P1".parse().unwrap();
        for typed in ["8z2kqt6n04hw7xrcm5p1", " 8Z2K QT6N O4HW 7XRC M5PL\n", "8Z2K-QT6N-o4hw-7xrc-m5pi"] {
            assert_eq!(typed.parse(), Ok(code.clone()), "{typed}");
        }
        assert_eq!(code.to_string(), "8Z2K-QT6N-04HW-7XRC-M5P1");
    }

    #[test]
    fn an_invalid_code_is_refused_with_the_reason() {
        assert_eq!("8Z2K".parse::<Code>(), Err(NotACode::Length(4)));
        assert_eq!("8Z2K-QT6N-04HW-7XRC-M5P1-7".parse::<Code>(), Err(NotACode::Length(21)));
        assert_eq!("8Z2K-QT6N-04HW-7XRC-M5Pü".parse::<Code>(), Err(NotACode::Character('ü')));
        assert_eq!("".parse::<Code>(), Err(NotACode::Length(0)));
    }

    #[test]
    fn a_code_is_not_printed_by_accident() {
        let code: Code = "8Z2K-QT6N-04HW-7XRC-M5P1".parse().unwrap();
        assert_eq!(format!("{code:?}"), "Code(…)");
    }
}
