//! Options in one text, as the controllers have them: `target=5ms,interval=100ms`.

/// The options of a text that have not been taken yet.
#[derive(Debug)]
pub struct Options<'a> {
    /// Name of the owner of the options, for errors.
    of: &'a str,
    left: Vec<(&'a str, &'a str)>,
    /// The keys that were asked for.
    known: Vec<&'static str>,
}

impl<'a> Options<'a> {
    /// The options of `of` in `text`, `key=value` and commas between; none in
    /// an empty text.
    ///
    /// # Errors
    ///
    /// Text that is not of this form, or a duplicate key.
    pub fn new(of: &'a str, text: &'a str) -> Result<Self, String> {
        let mut left = Vec::<(&str, &str)>::new();
        for option in text.split(',').filter(|_| !text.trim().is_empty()) {
            let (key, value) = option
                .split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()))
                .ok_or_else(|| format!("{of}: `{option}` is not of the form key=value"))?;
            if left.iter().any(|(other, _)| *other == key) {
                return Err(format!(
                    "{of}: duplicate key (got {key}); expected each key once"
                ));
            }
            left.push((key, value));
        }
        Ok(Options {
            of,
            left,
            known: Vec::new(),
        })
    }

    /// The value of `key` as `parse` understands it, if it is there.
    ///
    /// # Errors
    ///
    /// What `parse` says of it.
    pub fn take<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        self.known.push(key);
        let Some(index) = self.left.iter().position(|(other, _)| *other == key) else {
            return Ok(None);
        };
        let (_, value) = self.left.swap_remove(index);
        parse(value)
            .map(Some)
            .map_err(|error| format!("{}: {key}: {error}", self.of))
    }

    /// As [`Self::take`], of an option that has to be there.
    ///
    /// # Errors
    ///
    /// As [`Self::take`], or that it is missing.
    pub fn need<T>(
        &mut self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        self.take(key, parse)?
            .ok_or_else(|| format!("{}: `{key}` is missing", self.of))
    }

    /// Has to be called when everything known has been taken.
    ///
    /// # Errors
    ///
    /// A key that nobody took, and those there are.
    pub fn end(self) -> Result<(), String> {
        match self.left.first() {
            None => Ok(()),
            Some((key, _)) if self.known.is_empty() => {
                Err(format!("{} has no options, thus no `{key}`", self.of))
            }
            Some((key, _)) => Err(format!(
                "{}: no such option (got {key}); expected {}",
                self.of,
                self.known.join(", ")
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::parse_number;

    #[test]
    fn options_are_taken_by_key_and_what_is_left_is_an_error() {
        let mut options = Options::new("it", "a=1, b=2").unwrap();
        assert_eq!(options.take("b", parse_number), Ok(Some(2.0)));
        assert_eq!(options.take("c", parse_number), Ok(None));
        assert_eq!(
            options.need("d", parse_number).unwrap_err(),
            "it: `d` is missing"
        );
        assert_eq!(
            options.end().unwrap_err(),
            "it: no such option (got a); expected b, c, d"
        );
        assert!(Options::new("it", "").unwrap().end().is_ok());
        assert!(Options::new("it", "a").unwrap_err().contains("key=value"));
        assert!(Options::new("it", "a=1,a=2")
            .unwrap_err()
            .contains("duplicate"));
        let bad = Options::new("it", "a=x").unwrap().take("a", parse_number);
        assert!(bad.unwrap_err().starts_with("it: a: `x`"));
    }
}
