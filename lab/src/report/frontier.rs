//! Goodput against queueing delay: where each controller stands, and the line that those
//! of a kind draw.

use super::section::Draft;
use super::words;
use crate::plot::palette::Look;
use crate::plot::{Chart, Curve, Curves, Figure, Form, Scale, Spot};
use crate::results::{Line, Results, Summary, Table};

/// Metrics of which more is better, by preference.
const GOOD: [&str; 3] = ["share_of_limit", "goodput_mbps", "throughput_mbps"];

/// Metric that limits the others.
const PRICE: &str = "queue_p95_ms";

/// As many controllers that differ in their options alone are a line.
const LINE: usize = 3;

/// The figures of a plan that shows both.
pub(super) fn figures(draft: &Draft, results: &Results) -> Vec<Figure> {
    let shows = |name: &&&str| draft.manifest.metrics.iter().any(|it| it == **name);
    let good = GOOD.iter().find(shows);
    match good.filter(|_| shows(&&PRICE)) {
        Some(good) => of(draft, results, good, PRICE),
        None => Vec::new(),
    }
}

/// A figure for each line of the plan's tables that has two controllers at least.
pub(super) fn of(draft: &Draft, results: &Results, good: &str, price: &str) -> Vec<Figure> {
    let (goods, prices) = (Table::new(results, good), Table::new(results, price));
    let kinds = Kinds::new(results);
    let figure = |(good_line, price_line): (&Line, &Line)| {
        let cells = goods
            .controllers
            .iter()
            .zip(&price_line.cells)
            .zip(&good_line.cells);
        let points = cells.filter_map(|((name, x), y)| {
            Some(Point {
                kind: kinds.of(name),
                look: draft.palette.look(name),
                x: (*x)?,
                y: (*y)?,
            })
        });
        let points: Vec<Point> = points.collect();
        (points.len() > 1).then(|| {
            let line = good_line.name();
            let title = match line.as_str() {
                "" => "Frontier".to_owned(),
                line => format!("Frontier: {line}"),
            };
            let caption = format!(
                "Better is up and to the left. {} Controllers that differ in their options alone \
                 are a line.",
                draft.sample()
            );
            let chart = Chart::Curves(curves(&points, good, price));
            draft.figure(&["frontier", &line, good, price], title, caption, chart)
        })
    };
    let lines = goods.lines.iter().zip(&prices.lines);
    lines.filter_map(figure).collect()
}

/// A controller on one link.
struct Point<'a> {
    /// Name of the kind, and true if it has several members.
    kind: (&'a str, bool),
    look: Look,
    x: Summary,
    y: Summary,
}

fn curves(points: &[Point], good: &str, price: &str) -> Curves {
    let mut curves: Vec<Curve> = Vec::new();
    for Point { kind, look, x, y } in points {
        let (name, true) = kind else {
            continue;
        };
        let point = (x.mean, y.mean);
        match curves.iter_mut().find(|curve| curve.name == *name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                name: (*name).to_owned(),
                ink: look.ink,
                dash: look.dash,
                beside: false,
                points: vec![point],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let spots = points.iter().map(|point| {
        let curve = curves.iter().find(|curve| curve.name == point.kind.0);
        Spot {
            name: point.kind.0.to_owned(),
            ink: curve.map_or(point.look.ink, |curve| curve.ink),
            form: Form::Mark(point.look.shape),
            at: (point.x.mean, point.y.mean),
            intervals: Some((around(price, &point.x), around(good, &point.y))),
        }
    });
    Curves {
        x: Scale {
            label: words::title(price),
            log: true,
        },
        y: Scale {
            label: words::title(good),
            log: false,
        },
        spots: spots.collect(),
        curves,
        ..Curves::default()
    }
}

fn around(metric: &str, summary: &Summary) -> (f64, f64) {
    words::interval(metric, summary).unwrap_or((summary.mean, summary.mean))
}

/// Each controller as the plan calls it, and as quiche does without its options.
struct Kinds<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Kinds<'a> {
    fn new(results: &'a Results) -> Self {
        let mut kinds = Vec::new();
        for row in &results.rows {
            let base = row.cc.split(':').next().unwrap_or(&row.cc);
            let kind = (row.controller.as_str(), base);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Kinds(kinds)
    }

    fn of<'b: 'a>(&self, controller: &'b str) -> (&'a str, bool) {
        let kind = self.0.iter().find(|(name, _)| *name == controller);
        let base = kind.map_or(controller, |(_, base)| base);
        let members = self.0.iter().filter(|(_, other)| *other == base).count();
        match members >= LINE {
            true => (base, true),
            false => (controller, false),
        }
    }
}
