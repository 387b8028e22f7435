//! Three panels over one time axis: window, rates and RTT.

use anyhow::{anyhow, ensure, Result};
use plotters::coord::types::RangedCoordf64;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{register_font, FontStyle};

use super::curves::{thin_out, Curves, Points};

/// Panels of one trace have a colour a curve; of several traces, one a trace.
const COLOURS: [RGBColor; 6] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
];

/// Why the window was reduced, and the colour of the mark.
const REASONS: [(&str, RGBColor); 6] = [
    ("loss", RGBColor(214, 39, 40)),
    ("pto", RGBColor(148, 103, 189)),
    ("persistent_congestion", RGBColor(0, 0, 0)),
    ("queue", RGBColor(255, 127, 14)),
    ("mtu", RGBColor(23, 190, 207)),
    ("", RGBColor(127, 127, 127)),
];

/// Phases, and the colour of the band.
const PHASES: [(&str, RGBColor); 3] = [
    ("slow_start", RGBColor(198, 227, 194)),
    ("recovery", RGBColor(250, 208, 196)),
    ("congestion_avoidance", RGBColor(214, 224, 240)),
];

/// The phases that are none of the above, such as those of BBR2.
const OTHER_PHASE: RGBColor = RGBColor(232, 226, 206);

/// How high the band of a trace's phases is, as a share of the panel.
const BAND: f64 = 0.03;

const FONT: &str = "sans-serif";

type Panel<'a, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// The traces as SVG.
///
/// # Errors
///
/// When plotters has one.
pub(super) fn svg(traces: &[Curves], size: (u32, u32)) -> Result<String> {
    let mut text = String::new();
    draw(
        traces,
        &SVGBackend::with_string(&mut text, size).into_drawing_area(),
    )?;
    Ok(text)
}

/// The traces as PNG.
///
/// # Errors
///
/// When plotters has one.
pub(super) fn png(traces: &[Curves], size: (u32, u32)) -> Result<Vec<u8>> {
    let (width, height) = size;
    let mut pixels = vec![0; width as usize * height as usize * 3];
    draw(
        traces,
        &BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area(),
    )?;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    writer.finish()?;
    Ok(bytes)
}

/// A curve of a panel.
struct Line {
    label: &'static str,
    points: fn(&Curves) -> &Points,
    /// Beside the panel's main curve: thinner, and its peaks may be cut off.
    beside: bool,
}

fn draw<B: DrawingBackend>(traces: &[Curves], root: &DrawingArea<B, Shift>) -> Result<()>
where
    B::ErrorType: 'static,
{
    ensure!(!traces.is_empty(), "there is nothing to draw");
    let font = dejavu::sans::regular();
    register_font(FONT, FontStyle::Normal, font).map_err(|_| anyhow!("the font is broken"))?;
    root.fill(&WHITE).map_err(failed)?;
    let names: Vec<_> = traces.iter().map(|trace| trace.name.as_str()).collect();
    let root = root
        .titled(&names.join("   "), (FONT, 22))
        .map_err(failed)?;
    let rates = [
        line("bandwidth estimate", |trace| &trace.estimate, false),
        line("pacing rate", |trace| &trace.pacing, false),
        line("bandwidth sample", |trace| &trace.sample, true),
    ];
    let has_rates = rates
        .iter()
        .any(|rate| traces.iter().any(|trace| !(rate.points)(trace).is_empty()));
    // Stock quiche logs a rate of BBR2 only; without one the others get the room.
    let (_, height) = root.dim_in_pixel();
    let breaks: &[f64] = if has_rates { &[0.45, 0.72] } else { &[0.6] };
    let breaks: Vec<_> = breaks
        .iter()
        .map(|share| (share * f64::from(height)) as i32)
        .collect();
    let areas = root.split_by_breakpoints([] as [i32; 0], &breaks);

    let end = traces.iter().map(|trace| trace.end).fold(0.0, f64::max);
    window(traces, &areas[0], end)?;
    if has_rates {
        panel(
            traces,
            &areas[1],
            end,
            "rate, Mbit/s",
            &rates,
            |_, _| Ok(()),
        )?;
    }
    let rtts = [
        line(
            "queueing: latest RTT over the least",
            |trace| &trace.queueing,
            false,
        ),
        line("smoothed RTT", |trace| &trace.smoothed, false),
    ];
    panel(traces, &areas[areas.len() - 1], end, "ms", &rtts, |_, _| {
        Ok(())
    })?;
    root.present().map_err(failed)
}

fn line(label: &'static str, points: fn(&Curves) -> &Points, beside: bool) -> Line {
    Line {
        label,
        points,
        beside,
    }
}

/// The window, with the phases behind it and the reductions and losses on it.
fn window<B: DrawingBackend>(
    traces: &[Curves],
    area: &DrawingArea<B, Shift>,
    end: f64,
) -> Result<()>
where
    B::ErrorType: 'static,
{
    let lines = [
        line("congestion window", |trace| &trace.window, false),
        line("bytes in flight", |trace| &trace.in_flight, true),
        line("ssthresh", |trace| &trace.ssthresh, true),
    ];
    panel(traces, area, end, "window, kB", &lines, |chart, top| {
        for (index, trace) in traces.iter().enumerate() {
            let band = match traces.len() {
                1 => (0.0, top),
                _ => {
                    let upper = top * (1.0 - BAND * index as f64);
                    (upper - top * BAND, upper)
                }
            };
            phases(chart, trace, band)?;
            marks(chart, trace, top)?;
        }
        for (name, colour) in PHASES {
            if traces
                .iter()
                .any(|trace| trace.phases.iter().any(|(_, phase)| phase == name))
            {
                label(chart, name, colour.filled())?;
            }
        }
        for (reason, colour) in REASONS {
            let because = |trace: &Curves| trace.reductions.iter().any(|(.., why)| why == reason);
            if traces.iter().any(because) {
                let name = match reason {
                    "" => "reduction".to_owned(),
                    _ => format!("reduction: {reason}"),
                };
                label(chart, &name, colour.filled())?;
            }
        }
        Ok(())
    })
}

/// A panel with its curves over what `behind` draws, which is told the largest
/// value.
fn panel<'a, B: DrawingBackend + 'a>(
    traces: &[Curves],
    area: &DrawingArea<B, Shift>,
    end: f64,
    unit: &str,
    lines: &[Line],
    behind: impl FnOnce(&mut Panel<'a, B>, f64) -> Result<()>,
) -> Result<()>
where
    B::ErrorType: 'static,
{
    let largest = |beside: bool| {
        let lines = lines.iter().filter(|line| line.beside == beside);
        lines
            .flat_map(|line| traces.iter().flat_map(line.points))
            .map(|(_, value)| *value)
            .fold(0.0, f64::max)
    };
    let top = match largest(false) {
        0.0 => largest(true).max(1.0),
        main => main,
    } * 1.1;
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(32)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..end.max(1e-3), 0.0..top)
        .map_err(failed)?;
    behind(&mut chart, top)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .x_desc("s")
        .y_desc(unit)
        .label_style((FONT, 15))
        .draw()
        .map_err(failed)?;
    for (number, trace) in traces.iter().enumerate() {
        for (place, line) in lines.iter().enumerate() {
            let points = (line.points)(trace);
            if points.is_empty() {
                continue;
            }
            let (columns, _) = area.dim_in_pixel();
            let points = thin_out(points, columns as usize)
                .into_iter()
                .map(|(time, value)| (time, value.min(top)));
            let (colour, name) = match traces.len() {
                1 => (COLOURS[place], line.label.to_owned()),
                _ => (
                    COLOURS[number % COLOURS.len()],
                    format!("{}: {}", trace.name, line.label),
                ),
            };
            let strength = if line.beside { 0.45 } else { 1.0 };
            let style = colour
                .mix(strength)
                .stroke_width(if line.beside { 1 } else { 2 });
            chart
                .draw_series(LineSeries::new(points, style))
                .map_err(failed)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 14))
        .position(SeriesLabelPosition::UpperRight)
        .draw()
        .map_err(failed)
}

fn phases<B: DrawingBackend>(
    chart: &mut Panel<'_, B>,
    trace: &Curves,
    (lower, upper): (f64, f64),
) -> Result<()>
where
    B::ErrorType: 'static,
{
    let ends = trace.phases.iter().skip(1).map(|(time, _)| *time);
    let ends = ends.chain([trace.end]);
    let bands = trace.phases.iter().zip(ends).map(|((start, name), end)| {
        let known = PHASES.iter().find(|(phase, _)| phase == name);
        let colour = known.map_or(OTHER_PHASE, |(_, colour)| *colour);
        Rectangle::new([(*start, lower), (end, upper)], colour.filled())
    });
    chart.draw_series(bands).map_err(failed)?;
    Ok(())
}

/// Reductions, where the window then is, and losses, at the bottom.
fn marks<B: DrawingBackend>(chart: &mut Panel<'_, B>, trace: &Curves, top: f64) -> Result<()>
where
    B::ErrorType: 'static,
{
    let reductions = trace.reductions.iter().map(|(time, window, reason)| {
        let known = REASONS.iter().find(|(name, _)| name == reason);
        let colour = known.map_or(BLACK, |(_, colour)| *colour);
        Circle::new((*time, *window), 4, colour.filled())
    });
    chart.draw_series(reductions).map_err(failed)?;
    let losses = trace
        .losses
        .iter()
        .map(|time| PathElement::new([(*time, 0.0), (*time, top * 0.015)], RED));
    chart.draw_series(losses).map_err(failed)?;
    Ok(())
}

/// An entry of the legend that is no curve.
fn label<'a, B: DrawingBackend + 'a>(
    chart: &mut Panel<'a, B>,
    name: &str,
    style: ShapeStyle,
) -> Result<()>
where
    B::ErrorType: 'static,
{
    chart
        .draw_series(std::iter::empty::<Circle<(f64, f64), i32>>())
        .map_err(failed)?
        .label(name)
        .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 18, y + 5)], style));
    Ok(())
}

fn failed<E: std::error::Error + Send + Sync>(error: DrawingAreaErrorKind<E>) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}
