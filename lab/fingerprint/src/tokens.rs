//! The tokens of a Rust file that decide what it does.

use std::str::FromStr;

use anyhow::{anyhow, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The tokens of `source` one after the other, without comments, documentation, the texts of
/// fields called `help`, and modules of tests.
///
/// # Errors
///
/// A source that is not Rust.
pub(super) fn of(source: &str) -> Result<String> {
    let tokens = TokenStream::from_str(source).map_err(|error| anyhow!("not Rust: {error}"))?;
    let mut words = String::with_capacity(source.len());
    write(tokens, &mut words);
    Ok(words)
}

fn write(stream: TokenStream, words: &mut String) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut rest = tokens.as_slice();
    while let Some(token) = rest.first() {
        let silent = documentation(rest).max(test_module(rest)).max(help(rest));
        if silent > 0 {
            rest = &rest[silent..];
            continue;
        }
        rest = &rest[1..];
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push_str(open);
                write(group.stream(), words);
                words.push_str(close);
            }
            token => words.push_str(&token.to_string()),
        }
        words.push('\n');
    }
}

/// The number of tokens of the documentation at the head: `#[doc = ".."]`, which a comment with
/// three slashes is, or `#![doc = ".."]`.
fn documentation(tokens: &[TokenTree]) -> usize {
    let inner = usize::from(tokens.get(1).is_some_and(|token| is(token, "!")));
    let attribute = tokens.get(1 + inner).and_then(group);
    let first = attribute.and_then(|stream| stream.into_iter().next());
    if is(&tokens[0], "#") && first.is_some_and(|first| is(&first, "doc")) {
        2 + inner
    } else {
        0
    }
}

/// The number of tokens of a module of tests at the head: `#[cfg(test)] mod name { .. }`, or the
/// same in a file of its own.
fn test_module(tokens: &[TokenTree]) -> usize {
    let [hash, attribute, module, ..] = tokens else {
        return 0;
    };
    let attribute = group(attribute).map(|stream| stream.to_string().replace(' ', ""));
    if is(hash, "#") && attribute.as_deref() == Some("cfg(test)") && is(module, "mod") {
        // The name, and the block or semicolon behind it.
        tokens.len().min(5)
    } else {
        0
    }
}

/// The number of tokens of a help text at the head: `help: ".."`.
fn help(tokens: &[TokenTree]) -> usize {
    match tokens {
        [name, colon, TokenTree::Literal(_), ..] if is(name, "help") && is(colon, ":") => 3,
        _ => 0,
    }
}

/// Returns the tokens inside of a group.
fn group(token: &TokenTree) -> Option<TokenStream> {
    match token {
        TokenTree::Group(group) => Some(group.stream()),
        _ => None,
    }
}

fn is(token: &TokenTree, text: &str) -> bool {
    match token {
        TokenTree::Ident(ident) => ident == text,
        TokenTree::Punct(punct) => text.chars().eq([punct.as_char()]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_not_count() {
        let plain = of("fn rate() -> u64 { entry(Entry { key: \"a\", }) }").unwrap();
        let with_words = "//! A module.\n/// A rate.\nfn rate() -> u64 { // why\n    \
                          entry(Entry { key: \"a\", /* how */ })\n}\n\
                          #[cfg(test)]\nmod tests { fn a() {} }";
        assert_eq!(of(with_words).unwrap(), plain);
        let texts = ["short", "a long one"].map(|text| of(&format!("help: \"{text}\", b")));
        assert_eq!(texts[0].as_ref().unwrap(), texts[1].as_ref().unwrap());
    }

    #[test]
    fn everything_else_counts() {
        let sources = [
            "const A: f64 = 0.5;",
            "const A: f64 = 0.50;",
            "const B: f64 = 0.5;",
            "fn a() { b(c) }",
            "fn a() { b[c] }",
            "fn a() { bc() }",
            "fn a() { b; c() }",
            "#[cfg(test)] const A: f64 = 0.5;",
            "#[inline] fn a() {}",
            "fn a() { \"text\" }",
        ];
        let words: Vec<String> = sources.iter().map(|source| of(source).unwrap()).collect();
        for (index, one) in words.iter().enumerate() {
            assert!(!words[index + 1..].contains(one), "{}", sources[index]);
        }
        assert!(of("fn (").is_err());
    }
}
