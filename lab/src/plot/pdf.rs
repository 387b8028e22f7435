//! Figures as PDF.

use std::io::Write;

use anyhow::Result;
use flate2::write::ZlibEncoder;
use flate2::Compression;
use pdf_writer::types::LineJoinStyle;
use pdf_writer::{Content, Filter, Finish, Pdf, Rect, Ref, TextStr};
use resvg::tiny_skia::{PathSegment, Point};
use resvg::usvg::{Color, Group, Node, Paint, Path};

use super::image::about;
use super::style::Style;
use super::tree::tree;
use super::Figure;

/// The figure on a page of its size, with the command that makes it as its subject.
///
/// # Errors
///
/// A figure without a size.
pub(super) fn pdf(figure: &Figure, style: &Style) -> Result<Vec<u8>> {
    let tree = tree(figure, style)?;
    let mut content = Content::new();
    // A PDF measures from the lower left corner, and an SVG from the upper left one.
    content.transform([1.0, 0.0, 0.0, -1.0, 0.0, tree.size().height()]);
    content.set_line_join(LineJoinStyle::RoundJoin);
    draw(tree.root(), &mut content);
    let mut deflated = ZlibEncoder::new(Vec::new(), Compression::default());
    deflated.write_all(&content.finish())?;
    let deflated = deflated.finish()?;

    let [catalog, pages, page, stream, info] = [1, 2, 3, 4, 5].map(Ref::new);
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut sheet = pdf.page(page);
    let (width, height) = (tree.size().width(), tree.size().height());
    sheet.parent(pages).contents(stream);
    sheet.media_box(Rect::new(0.0, 0.0, width, height));
    sheet.resources();
    sheet.finish();
    pdf.stream(stream, &deflated).filter(Filter::FlateDecode);
    let mut document = pdf.document_info(info);
    document.title(TextStr(&figure.title));
    document.subject(TextStr(&about(figure)));
    document.finish();
    Ok(pdf.finish())
}

fn draw(group: &Group, content: &mut Content) {
    for node in group.children() {
        match node {
            Node::Group(group) => draw(group, content),
            Node::Path(path) => paint(path, content),
            Node::Text(text) => draw(text.flattened(), content),
            Node::Image(_) => {}
        }
    }
}

/// Fills and strokes a path. A canvas has nothing transparent.
fn paint(path: &Path, content: &mut Content) {
    content.save_state();
    if let Some(Paint::Color(colour)) = path.fill().map(|fill| fill.paint()) {
        let [red, green, blue] = shares(*colour);
        content.set_fill_rgb(red, green, blue);
        trace(path, content);
        content.fill_nonzero();
    }
    if let Some((stroke, Paint::Color(colour))) = path.stroke().map(|it| (it, it.paint())) {
        let [red, green, blue] = shares(*colour);
        content.set_stroke_rgb(red, green, blue);
        content.set_line_width(stroke.width().get());
        if let Some(dashes) = stroke.dasharray() {
            content.set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
        }
        trace(path, content);
        content.stroke();
    }
    content.restore_state();
}

fn shares(colour: Color) -> [f32; 3] {
    [colour.red, colour.green, colour.blue].map(|part| f32::from(part) / 255.0)
}

/// Adds the segments of a path.
fn trace(path: &Path, content: &mut Content) {
    let Some(data) = path.data().clone().transform(path.abs_transform()) else {
        return;
    };
    let mut last = Point::default();
    for segment in data.segments() {
        match segment {
            PathSegment::MoveTo(to) => {
                content.move_to(to.x, to.y);
                last = to;
            }
            PathSegment::LineTo(to) => {
                content.line_to(to.x, to.y);
                last = to;
            }
            PathSegment::QuadTo(control, to) => {
                // The cubic curve of the same form: a PDF has no other.
                let near = |end: f32, control: f32| end + (control - end) * 2.0 / 3.0;
                let [a, b] = [last, to].map(|end| (near(end.x, control.x), near(end.y, control.y)));
                content.cubic_to(a.0, a.1, b.0, b.1, to.x, to.y);
                last = to;
            }
            PathSegment::CubicTo(a, b, to) => {
                content.cubic_to(a.x, a.y, b.x, b.y, to.x, to.y);
                last = to;
            }
            PathSegment::Close => {
                content.close_path();
            }
        }
    }
}
