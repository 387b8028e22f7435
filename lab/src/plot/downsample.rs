//! As many points as there is room for.

/// The first, the lowest, the highest and the last point of each of `parts` parts of the width, in
/// their order. A picture with at most as many parts is the same as with all points.
pub(crate) fn downsample(points: Vec<(f64, f64)>, parts: usize) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return points;
    };
    if points.len() <= 4 * parts || last.0 <= first.0 {
        return points;
    }
    let part = |x: f64| ((x - first.0) / (last.0 - first.0) * parts as f64) as usize;
    let mut fewer = Vec::new();
    for chunk in points.chunk_by(|one, next| part(one.0) == part(next.0)) {
        let by = |a: &usize, b: &usize| chunk[*a].1.total_cmp(&chunk[*b].1);
        let end = chunk.len() - 1;
        let low = (0..=end).min_by(by).unwrap_or(0);
        let high = (0..=end).max_by(by).unwrap_or(0);
        let mut kept = [0, low, high, end];
        kept.sort_unstable();
        let mut before = None;
        for place in kept {
            if before.replace(place) != Some(place) {
                fewer.push(chunk[place]);
            }
        }
    }
    fewer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_thinned_out_keeps_its_extremes_and_what_holds_on() {
        let mut points: Vec<(f64, f64)> = (0..5000).map(|n| (f64::from(n), 1.0)).collect();
        points[1234].1 = 9.0;
        points[4321].1 = -9.0;
        // After a gap the last value before it is still that of the gap.
        points.drain(2003..3000);
        points[2002].1 = 3.0;
        let kept = downsample(points.clone(), 100);
        assert!(kept.len() <= 404);
        for extreme in [(1234.0, 9.0), (4321.0, -9.0), (2002.0, 3.0)] {
            assert!(kept.contains(&extreme), "{extreme:?}");
        }
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(downsample(points[..400].to_vec(), 100), points[..400]);
    }
}
