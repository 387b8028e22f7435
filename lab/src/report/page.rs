//! The page: everything in one file, nothing from anywhere else.

use maud::{html, Markup, PreEscaped, DOCTYPE};

use super::printed_tables::Overview;
use super::ranking::{verdict, Ranking};
use super::section::{shown, Section};
use super::swatch::controller;
use super::{tables, words};
use crate::plot::palette::{dark_css, Palette};
use crate::plot::{svg, Figure, KINDS};
use crate::results::{Manifest, PlanFile, Verdict};

/// Parts of the page besides the sections.
pub(super) struct Frame {
    pub(super) palette: Palette,
    /// The folder of the figures' files, as the page links to it.
    pub(super) plots: String,
    /// The folder of the results, as the page links to it.
    pub(super) results: String,
    /// The command that makes the page.
    pub(super) command: String,
    /// True for a single plan, whose title becomes the page's.
    pub(super) alone: bool,
}

/// A whole page.
pub(super) fn page(sections: &[Section], frame: &Frame) -> String {
    let title = match sections {
        [one] => one.manifest.title.as_str(),
        _ => "Report of the laboratory",
    };
    let main = html! {
        header {
            h1 { (title) }
            @if sections.len() > 1 { (contents(sections, &frame.palette)) }
            (legend(sections, &frame.command))
        }
        @for overview in Overview::all(sections) { (frame.overview(&overview)) }
        @for section in sections { (frame.section(section)) }
    };
    document(title, &main)
}

/// A document around its content.
pub(crate) fn document(title: &str, main: &Markup) -> String {
    let style = format!(
        "{}@media (prefers-color-scheme:dark){{{}}}",
        include_str!("style.css"),
        dark_css("svg")
    );
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(style)) }
            }
            body {
                main { (main) }
                script { (PreEscaped(include_str!("script.js"))) }
            }
        }
    };
    document.into_string()
}

fn contents(sections: &[Section], palette: &Palette) -> Markup {
    html! {
        nav aria-label="plans" {
            ul {
                @for section in sections {
                    @let manifest = &section.manifest;
                    li {
                        a href={ "#" (words::slug(&manifest.plan)) } { (manifest.title) }
                        " " (outcome(manifest))
                        @for ranking in Ranking::all(section).iter().take(1) {
                            br;
                            (ranking.sentence(palette))
                            @if section.is_one_seed() { " " span.muted { "One seed." } }
                        }
                    }
                }
            }
        }
    }
}

/// Shows the number of expectations that hold.
fn outcome(manifest: &Manifest) -> Markup {
    let all = manifest.verdicts.len();
    let held = manifest.verdicts.iter().filter(|it| it.holds).count();
    html! {
        @if all > 0 {
            @let class = if held == all { "good" } else { "bad" };
            span.muted { span class=(class) { (held) " of " (words::count(all, "expectation")) } " held" }
        }
    }
}

impl Frame {
    fn section(&self, section: &Section) -> Markup {
        let manifest = &section.manifest;
        let seeds = words::count(manifest.seeds.len(), "seed");
        html! {
            section id=(words::slug(&manifest.plan)) aria-label=(manifest.title) {
                @if self.alone { h2.unseen { "Results" } } @else { h2 { (manifest.title) } }
                (verdict(section, &self.palette))
                @for paragraph in manifest.description.split("\n\n") { p { (words::prose(paragraph)) } }
                pre { (section.made) }
                p.note {
                    (seeds)
                    @if manifest.seeds.len() > 1 && !section.spreads() { ", each of which gave these figures" }
                    ", backend " (manifest.backend) ", " (manifest.versions) ", plan " (manifest.plan_hash)
                    @if section.failures > 0 {
                        ". " span.bad { (words::count(section.failures, "flow")) " ended before their time" }
                    }
                }
                (expectations(&manifest.verdicts))
                @if let Some(comparison) = &section.comparison { (self.comparison(section, comparison)) }
                (self.metrics(section))
                (rows(section))
                (plan(&manifest.files))
                @if !section.frontiers.is_empty() {
                    h3 { "Goodput against queueing delay" }
                    (self.figures(&section.frontiers))
                }
                @if !section.distributions.is_empty() {
                    h3 { "Distributions" }
                    (self.figures(&section.distributions))
                }
                (self.run_groups(section))
                (self.traces(section))
            }
        }
    }

    /// One table of all metrics where the controllers are all that differs;
    /// elsewhere a table for each, the first one open.
    fn metrics(&self, section: &Section) -> Markup {
        let metrics = &section.metrics;
        if metrics.iter().all(|shown| shown.table.lines.len() <= 1) {
            let figures = metrics.iter().flat_map(|shown| &shown.figures);
            return html! {
                h3 { "Means" }
                (tables::controllers(metrics, &self.palette))
                (self.figures(figures))
            };
        }
        let metrics = metrics.iter().enumerate().map(|(number, shown)| {
            let first = number == 0;
            let table = tables::metric(shown, &self.palette, first);
            let figures = self.figures(&shown.figures);
            let (title, name) = (words::heading(&shown.metric), &shown.metric);
            html! {
                @if first {
                    h3 { (title) " " code { (name) } }
                    (table)
                    (figures)
                } @else {
                    details { summary { (title) " " code { (name) } } (table) (figures) }
                }
            }
        });
        html! { @for metric in metrics { (metric) } }
    }

    fn run_groups(&self, section: &Section) -> Markup {
        let run_groups = &section.run_groups;
        html! {
            @if !run_groups.shown.is_empty() {
                h3 { "Over time" }
                @for group in &run_groups.shown {
                    @if !group.title.is_empty() { h4 { (group.title) } }
                    (self.figures(&group.together))
                    @for (name, figures) in &group.alone {
                        details {
                            summary { (controller(name, self.palette.of(name))) ": window, rates, delays" }
                            (self.figures(figures))
                        }
                    }
                }
                @if run_groups.left_out > 0 {
                    p.note { (run_groups.left_out) " more are in the folder " code { "series" } " of the results." }
                }
            }
        }
    }

    fn traces(&self, section: &Section) -> Markup {
        let base = match self.results.as_str() {
            "." => String::new(),
            results => format!("{results}/"),
        };
        html! {
            @if !section.traces.is_empty() {
                h3 { "Traces" }
                p {
                    "The qlogs of client and server are beside this page; those that end in "
                    code { (petra_qlog::QVIS_SUFFIX) } " open in "
                    a href="https://qvis.quictools.info" { "qvis" } "."
                }
                details open[section.traces.len() <= 12] {
                    summary { (words::count(section.traces.len(), "run")) }
                    ul {
                        @for traces in &section.traces {
                            @let folder = format!("{base}{}/", traces.folder);
                            li {
                                a href=(folder) { (traces.run) }
                                @for (number, name) in traces.copies.iter().enumerate() {
                                    (if number == 0 { ": " } else { ", " })
                                    a href={ (folder) (name) } download { (name) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    pub(super) fn figures<'a>(&self, figures: impl IntoIterator<Item = &'a Figure>) -> Markup {
        let mut figures = figures.into_iter().peekable();
        html! {
            @if figures.peek().is_some() {
                div.figures {
                    @for figure in figures {
                        figure {
                            strong { (figure.title) }
                            (PreEscaped(svg(figure)))
                            figcaption {
                                (figure.caption) " "
                                @for kind in KINDS {
                                    a href={ (self.plots) "/" (figure.name) "." (kind) } { (kind.to_uppercase()) } " "
                                }
                                br;
                                code { (figure.command) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The meaning of numbers, bold, dashes, names and metrics, folded away.
fn legend(sections: &[Section], command: &str) -> Markup {
    html! {
        details {
            summary { "How to read this page" }
            p {
                "A column is a congestion controller: " code { "reno" } ", " code { "cubic" } " and "
                code { "bbr2" } " are quiche's, " code { "oracle" } " is the laboratory's, the others \
                 are PETRA and what it is compared with. "
                "Options follow a colon. Numbers are means over the seeds, with 95 % intervals \
                 (Student's t). Bold marks the best of a row and those that no test separates from it; \
                 of one seed nothing is bold. A dash is a value that was not measured, such as the \
                 completion of a download that did not end. A click on the head of a table sorts it."
            }
            ul {
                @for metric in shown(sections) {
                    li { strong { (words::title(metric.name)) } ": " (metric.meaning()) }
                }
            }
            p {
                code { "oracle" }
                " is the limit for a sender that does not know the future of the link: it is told the \
                 state of its path half a round trip late, and keeps an allowed queue. It takes no part in \
                 verdicts, and is never bold."
                @if shown(sections).any(|metric| metric.name == "share_of_limit") {
                    " The limit of the share knows that future."
                }
            }
            p { "The command of this page: " code { (command) } }
        }
    }
}

/// Settings that distinguish the rows of the tables, folded away.
fn rows(section: &Section) -> Markup {
    let (names, lines) = &section.settings;
    let labels = section
        .metrics
        .first()
        .map_or(&[][..], |it| &it.table.lines);
    html! {
        @if !names.is_empty() {
            details {
                summary { "What the rows set" }
                ul {
                    @for (line, values) in labels.iter().zip(lines) {
                        li {
                            (line.name()) ": "
                            @let set = names.iter().zip(values).filter(|(_, value)| !value.is_empty());
                            @for (number, (name, value)) in set.enumerate() {
                                @if number > 0 { ", " }
                                code { (words::setting(name)) " = " (value) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The plan's own words.
fn plan(files: &[PlanFile]) -> Markup {
    html! {
        details {
            summary { "The plan" }
            @for file in files { h4 { code { (file.name) } } pre { (file.text) } }
        }
    }
}

fn expectations(verdicts: &[Verdict]) -> Markup {
    html! {
        @if !verdicts.is_empty() {
            h3 { "Expected" }
            ul { @for verdict in verdicts { li { (expectation(verdict)) } } }
        }
    }
}

fn expectation(verdict: &Verdict) -> Markup {
    let digits = words::digits(&verdict.metric);
    let all = verdict.comparisons.len();
    let broken: Vec<_> = verdict.comparisons.iter().filter(|it| !it.holds).collect();
    let known = broken.iter().filter(|it| it.because.is_some()).count();
    html! {
        (verdict.expected) ": "
        @if verdict.holds {
            span.good { "holds" }
            @if known > 0 { " but for " (words::count(known, "known deviation")) " of " (words::count(all, "comparison")) }
            @else if all > 1 { " in all " (all) " comparisons" }
        } @else if all == 0 {
            span.bad { "nothing was measured that could tell" }
        } @else {
            span.bad { "does not hold" } " in " (broken.len()) " of " (words::count(all, "comparison"))
            @if known > 0 { ", of which " (known) " known" }
        }
        @if !broken.is_empty() {
            ul {
                @for it in broken {
                    li {
                        @if !it.row.is_empty() { (it.row) ": " }
                        (it.sides(digits))
                        @if let Some(cause) = &it.because { ". " (words::prose(cause)) }
                    }
                }
            }
        }
    }
}
