//! Draws panels of curves.

use super::axis::Axis;
use super::canvas::Canvas;
use super::{curves, Curves};

/// Between one panel and the next.
const BETWEEN: f64 = 12.0;

/// Panels whose lower axes are the same, and at the same place.
pub(super) struct Layout<'a> {
    panels: Vec<curves::Layout<'a>>,
}

impl<'a> Layout<'a> {
    pub(super) fn new(panels: &'a [Curves], room: f64) -> Self {
        let scale = panels.first().map(|panel| panel.x.clone());
        let widths = panels.iter().flat_map(Curves::widths);
        let x = Axis::new(&scale.unwrap_or_default(), widths);
        let layout = |panel| curves::Layout::new(panel, room);
        let mut panels: Vec<_> = panels.iter().map(layout).collect();
        let left = panels.iter().map(|panel| panel.left).fold(0.0, f64::max);
        for panel in &mut panels {
            panel.x = x.clone();
            panel.left = left;
        }
        Layout { panels }
    }

    pub(super) fn height(&self) -> f64 {
        let heights = self.panels.iter().map(|panel| panel.height() + BETWEEN);
        heights.sum::<f64>() - BETWEEN
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        let mut start = 0.0;
        for panel in &self.panels {
            panel.draw(canvas, start);
            start += panel.height() + BETWEEN;
        }
    }
}
