//! A table, as HTML and as Markdown.

use maud::{html, Markup};

use super::swatch::controller;
use crate::plot::palette::Palette;
use crate::results::Order;

/// A table. Its first `left` columns are words, the others numbers.
pub(super) struct Grid {
    left: usize,
    heads: Vec<Head>,
    rows: Vec<Vec<Cell>>,
}

/// The head of a column.
pub(super) enum Head {
    Text(String),
    /// Two controllers, one over the other.
    Pair(String, String),
}

/// A cell: its text, and what follows from it.
#[derive(Clone, Default)]
pub(super) struct Cell {
    text: String,
    order: Option<Order>,
    /// True for a value that was printed, not measured.
    is_printed: bool,
    /// The place in the page that it refers to.
    anchor: Option<String>,
}

impl<T: Into<String>> From<T> for Head {
    fn from(text: T) -> Self {
        Head::Text(text.into())
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }
}

impl Cell {
    pub(super) fn printed(text: impl Into<String>) -> Self {
        Cell {
            is_printed: true,
            ..text.into().into()
        }
    }

    /// The text and the word for the order.
    pub(super) fn ordered(text: impl Into<String>, order: Order) -> Self {
        Cell {
            order: Some(order),
            ..text.into().into()
        }
    }

    /// A link in HTML.
    pub(super) fn link(text: impl Into<String>, anchor: String) -> Self {
        Cell {
            anchor: Some(anchor),
            ..text.into().into()
        }
    }

    /// The order's class in the style sheet, and its word.
    fn word(&self) -> Option<(&'static str, &'static str)> {
        Some(match self.order? {
            Order::Above => ("good", "holds"),
            Order::Undecided => ("open", "undecided"),
            Order::Below => ("bad", "reversed"),
        })
    }

    fn html(&self) -> Markup {
        html! {
            @match &self.anchor {
                Some(anchor) => a href={ "#" (anchor) } { (self.text) },
                None => (self.text),
            }
            @if let Some((class, word)) = self.word() { " " span class=(class) { (word) } }
        }
    }

    fn markdown(&self) -> String {
        let text = escaped(&self.text);
        match self.word() {
            Some(("bad", word)) => format!("{text} **{word}**"),
            Some((_, word)) => format!("{text} {word}"),
            None => text,
        }
    }
}

impl Grid {
    pub(super) fn new<H: Into<Head>>(left: usize, heads: impl IntoIterator<Item = H>) -> Self {
        Grid {
            left,
            heads: heads.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; a short one gets empty cells.
    pub(super) fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let mut cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        cells.resize(self.heads.len(), Cell::default());
        self.rows.push(cells);
    }

    pub(super) fn html(&self, palette: &Palette) -> Markup {
        let is_left = |column| column > 0 && column < self.left;
        let class = |column, cell: &Cell| match is_left(column) {
            true => Some("l"),
            false => cell.is_printed.then_some("ref"),
        };
        html! {
            div.scroll tabindex="0" role="group" aria-label="printed and measured" {
                table {
                    thead {
                        tr {
                            @for (column, head) in self.heads.iter().enumerate() {
                                th class=(if is_left(column) { "l" } else { "w" }) {
                                    @match head {
                                        Head::Text(text) => (text),
                                        Head::Pair(above, below) => {
                                            (controller(above, palette.of(above))) " / "
                                            (controller(below, palette.of(below)))
                                        }
                                    }
                                }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (column, cell) in row.iter().enumerate() {
                                    @if column == 0 { th { (cell.html()) } }
                                    @else { td class=[class(column, cell)] { (cell.html()) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn markdown(&self) -> String {
        let heads = self.heads.iter().map(|head| match head {
            Head::Text(text) => escaped(text),
            Head::Pair(above, below) => escaped(&format!("{above} / {below}")),
        });
        let rule = |column| if column < self.left { "---" } else { "--:" };
        let rules: Vec<&str> = (0..self.heads.len()).map(rule).collect();
        let mut text = line(heads);
        text += &format!("|{}|\n", rules.join("|"));
        for row in &self.rows {
            text += &line(row.iter().map(Cell::markdown));
        }
        text + "\n"
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// A cell's text is one line, and has no end of a cell in it.
fn escaped(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

/// The text in one line.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let heads = [
            "row".into(),
            "MB".into(),
            Head::Pair("a".into(), "b".into()),
        ];
        let mut grid = Grid::new(1, heads);
        let cells = [
            "a|b\nc".into(),
            Cell::printed("1.0"),
            Cell::ordered("2", Order::Below),
        ];
        grid.row(cells);
        grid.row([Cell::link("<i>", "there".to_owned())]);
        grid
    }

    #[test]
    fn a_grid_is_a_table_in_markdown() {
        let expected = "| row | MB | a / b |\n|---|--:|--:|\n\
                        | a\\|b c | 1.0 | 2 **reversed** |\n| <i> |  |  |\n\n";
        assert_eq!(grid().markdown(), expected);
    }

    #[test]
    fn a_grid_is_a_table_in_html() {
        let html = grid().html(&Palette::default()).into_string();
        for part in [
            "<th>a|b\nc</th><td class=\"ref\">1.0</td>",
            "<td>2 <span class=\"bad\">reversed</span>",
            "<th><a href=\"#there\">&lt;i&gt;</a></th>",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
