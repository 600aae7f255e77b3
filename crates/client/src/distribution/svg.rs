//! The drawing: a panel for each hash, and a panel of bars for the partition keys.

use std::fmt::Write as _;

use super::{CONTAINERS, PHYSICAL, Report, RingSpread, VIRTUAL_NODES};

const WIDTH: f64 = 1080.0;
const PANEL_WIDTH: f64 = 320.0;
const PANEL_HEIGHT: f64 = 260.0;
const TOP: f64 = 90.0;
const BARS_TOP: f64 = 450.0;
const BAR_HEIGHT: f64 = 22.0;

/// The highest percent of the ring panels; what is above is drawn at the edge.
const PERCENT_MAX: f64 = 400.0;

/// One colour for each number of containers, from few to many.
const COLOURS: [&str; 5] = ["#9ecae1", "#6baed6", "#3182bd", "#08519c", "#08306b"];

pub(super) fn draw(report: &Report) -> String {
    let height = BARS_TOP + 60.0 + (BAR_HEIGHT + 10.0) * index(report.keys.len());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    text(&mut svg, 40.0, 30.0, 18, "start", &format!("How evenly {} keys spread", report.n_keys));
    let subtitle = "Rings: the fullest container, in percent of an even share, by virtual nodes and number of containers; above 400 at the edge";
    text(&mut svg, 40.0, 52.0, 12, "start", subtitle);
    for (number, ring) in report.rings.iter().enumerate() {
        panel(&mut svg, 60.0 + index(number) * (PANEL_WIDTH + 20.0), ring);
    }
    bars(&mut svg, report);
    svg.push_str("</svg>\n");
    svg
}

/// A small number as a coordinate.
fn index(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}

fn text(svg: &mut String, x: f64, y: f64, size: u32, anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;").replace('`', "");
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{colour}\"/>",
        from.0, from.1, to.0, to.1
    );
}

fn panel(svg: &mut String, left: f64, ring: &RingSpread) {
    let inner_width = PANEL_WIDTH - 50.0;
    let bottom = TOP + PANEL_HEIGHT;
    let step = inner_width / index(VIRTUAL_NODES.len() - 1);
    let height_of = |percent: f64| {
        let share = (percent.clamp(100.0, PERCENT_MAX) - 100.0) / (PERCENT_MAX - 100.0);
        bottom - share * PANEL_HEIGHT
    };
    text(svg, left, TOP - 12.0, 13, "start", &ring.hash);
    for percent in [100.0, 150.0, 200.0, 300.0, 400.0] {
        let y = height_of(percent);
        line(svg, (left, y), (left + inner_width, y), "#e0e0e0");
        text(svg, left - 6.0, y + 4.0, 11, "end", &format!("{percent:.0}"));
    }
    for (number, n_nodes) in VIRTUAL_NODES.iter().enumerate() {
        text(svg, left + index(number) * step, bottom + 18.0, 11, "middle", &n_nodes.to_string());
    }
    text(svg, left + inner_width / 2.0, bottom + 36.0, 11, "middle", "virtual nodes");
    for (number, row) in ring.rows.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(at, cell)| {
                format!("{:.1},{:.1}", left + index(at) * step, height_of(cell.fullest))
            })
            .collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        legend(svg, left + inner_width - 96.0, TOP + 8.0 + index(number) * 16.0, colour, number);
    }
}

fn legend(svg: &mut String, x: f64, y: f64, colour: &str, number: usize) {
    let n_containers = CONTAINERS.get(number).copied().unwrap_or_default();
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"14\" height=\"3\" fill=\"{colour}\"/>",
        y - 4.0
    );
    text(svg, x + 20.0, y, 11, "start", &format!("{n_containers} containers"));
}

fn bars(svg: &mut String, report: &Report) {
    let title = format!(
        "Partition keys, items of one day: the fullest of {PHYSICAL} physical partitions, in percent of an even share"
    );
    text(svg, 40.0, BARS_TOP, 12, "start", &title);
    let percent_max = f64::from(PHYSICAL) * 100.0;
    let (left, width) = (270.0, 620.0);
    for (number, key) in report.keys.iter().enumerate() {
        let y = BARS_TOP + 20.0 + index(number) * (BAR_HEIGHT + 10.0);
        let length = (key.physical.fullest / percent_max).clamp(0.0, 1.0) * width;
        text(svg, left - 10.0, y + 16.0, 12, "end", &key.strategy);
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{BAR_HEIGHT}\" fill=\"{}\"/>",
            if key.physical.fullest > 200.0 { "#d94801" } else { COLOURS[2] }
        );
        let label = format!("{:.0} %, {} logical partitions", key.physical.fullest, key.n_keys);
        text(svg, left + length + 8.0, y + 16.0, 11, "start", &label);
    }
    let x = left + width / f64::from(PHYSICAL);
    let bottom = BARS_TOP + 20.0 + index(report.keys.len()) * (BAR_HEIGHT + 10.0);
    line(svg, (x, BARS_TOP + 12.0), (x, bottom), "#999");
    text(svg, x, bottom + 14.0, 11, "middle", "even: 100 %");
}
