//! `petra-lab report` and `compare` on results that are made here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use petra_lab::results::{
    write_csv, Axis, Column, Comparison, KnownDeviation, Manifest, PlanFile, Printed, Row, Verdict,
    Versions,
};
use tempfile::TempDir;

const CONTROLLERS: [&str; 3] = ["mechanism", "westwood", "reno"];
const READINGS: [&str; 2] = ["as printed", "packet-scaled"];

/// A plan like those of the thesis's tables: two rows in two readings, three
/// seeds. `value` gives the received megabytes by reading, row, controller and
/// seed.
struct Made {
    manifest: Manifest,
    rows: Vec<Row>,
}

fn printed() -> Printed {
    let column = |reference: &str, name: &str, controller: &str| Column {
        reference: format!("printed.{reference}"),
        name: name.to_owned(),
        controller: controller.to_owned(),
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    Printed {
        title: "A table, again: does the order hold?".to_owned(),
        note: "Of `code`.".to_owned(),
        metric: "received_mb".to_owned(),
        columns: vec![
            column("petra", "PETRA", "mechanism"),
            column("westwood", "TCPW", "westwood"),
            column("newreno", "NewReno", "reno"),
        ],
        orders: vec![pair("mechanism", "westwood"), pair("westwood", "reno")],
        circumstances: vec!["share_of_limit".to_owned()],
    }
}

fn made(name: &str, value: impl Fn(usize, usize, usize, u64) -> f64) -> Made {
    let axis = |name: &str, fields: &str, values: &[&str], controllers| Axis {
        name: name.to_owned(),
        fields: vec![fields.to_owned()],
        values: values.iter().map(|it| it.to_string()).collect(),
        controllers,
    };
    let verdict = |holds| Verdict {
        expected: "received_mb of westwood is at least that of reno".to_owned(),
        metric: "received_mb".to_owned(),
        holds,
        comparisons: vec![Comparison {
            row: "row 2".to_owned(),
            value: Some(1.5),
            reference: Some(2.5),
            tolerance: 0.0,
            holds,
            because: None,
        }],
    };
    let manifest = Manifest {
        plan: name.to_owned(),
        title: "Rows & <b>columns</b>".to_owned(),
        description: "One.\n\nTwo \"quoted\" <script>alert(1)</script>.".to_owned(),
        plan_hash: "1234".to_owned(),
        files: vec![PlanFile {
            name: format!("{name}.toml"),
            text: "seeds = 3 # <all>\n".to_owned(),
        }],
        backend: "sim".to_owned(),
        versions: Versions::current(),
        command: format!("petra-lab run plans/{name}.toml --seeds 3"),
        seeds: vec![1, 2, 3],
        metrics: vec!["received_mb".to_owned(), "queue_mean_ms".to_owned()],
        axes: vec![
            axis("flow.cc", "flow.cc", &CONTROLLERS, true),
            axis("reading", "link.rate", &READINGS, false),
        ],
        cases: vec!["row 1".to_owned(), "row 2".to_owned()],
        controllers: CONTROLLERS.map(str::to_owned).into(),
        subject: None,
        rows: 0,
        series: false,
        frames: None,
        printed: Some(printed()),
        verdicts: vec![verdict(true), verdict(false)],
        known_deviations: Vec::new(),
    };
    let mut rows = Vec::new();
    for (reading, reading_name) in READINGS.iter().enumerate() {
        for case in 0..2 {
            for (place, controller) in CONTROLLERS.iter().enumerate() {
                for seed in 1..=3 {
                    let mb = value(reading, case, place, seed);
                    let point = rows.len() as u64 / 3;
                    let texts = |pairs: &[(&str, &str)]| {
                        let owned = |(a, b): &(&str, &str)| (a.to_string(), b.to_string());
                        pairs.iter().map(owned).collect()
                    };
                    rows.push(Row {
                        plan: name.to_owned(),
                        plan_hash: "1234".to_owned(),
                        key: format!("{point}-{seed}"),
                        backend: "sim".to_owned(),
                        versions: "some".to_owned(),
                        point,
                        case: Some(format!("row {}", case + 1)),
                        seed,
                        flow: 0,
                        controller: controller.to_string(),
                        cc: controller.to_string(),
                        failure: None,
                        settings: texts(&[
                            ("flow.cc", controller),
                            ("reading", reading_name),
                            ("link.rate", "<1mbit>"),
                            ("link.1.loss", "0.5%"),
                        ]),
                        metrics: vec![
                            ("received_mb".to_owned(), Some(mb)),
                            ("queue_mean_ms".to_owned(), Some(mb / 2.0)),
                            ("share_of_limit".to_owned(), Some(mb / 100.0)),
                        ],
                        references: vec![
                            ("printed.petra".to_owned(), Some(17.1)),
                            ("printed.westwood".to_owned(), Some(16.84)),
                            ("printed.newreno".to_owned(), Some(4.27)),
                        ],
                    });
                }
            }
        }
    }
    Made { manifest, rows }
}

/// Everything in order: mechanism over westwood over reno, but for the second
/// row as printed, where reno is first and nobody can tell the others apart.
fn received(reading: usize, case: usize, controller: usize, seed: u64) -> f64 {
    let mean = match (reading, case, controller) {
        (0, 1, 2) => 40.0,
        (0, 1, _) => 20.0,
        _ => [30.0, 20.0, 10.0][controller],
    };
    let spread = if (reading, case) == (0, 1) { 3.0 } else { 0.1 };
    mean + spread * (seed as f64 - 2.0) * if controller == 0 { -1.0 } else { 1.0 }
}

impl Made {
    fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        let manifest = Manifest {
            rows: self.rows.len(),
            ..self.manifest.clone()
        };
        let file = |kind: &str| folder.join(format!("{}.{kind}", manifest.plan));
        fs::write(file("json"), serde_json::to_vec(&manifest).unwrap()).unwrap();
        let mut csv = Vec::new();
        write_csv(&self.rows, &mut csv).unwrap();
        fs::write(file("csv"), csv).unwrap();
    }
}

struct Place {
    folder: TempDir,
}

impl Place {
    fn new(results: &[(&str, Made)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, made) in results {
            made.write(&folder.path().join(name));
        }
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn output(&self, words: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_petra-lab"));
        let command = command.args(words.split(' ')).current_dir(&self.folder);
        command.output().unwrap()
    }

    fn ok(&self, words: &str) -> String {
        let output = self.output(words);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn fails(&self, words: &str) -> String {
        let output = self.output(words);
        assert_eq!(output.status.code(), Some(2), "{words}");
        String::from_utf8(output.stderr).unwrap()
    }
}

/// The texts of a page, in their order, each element's by itself.
fn texts(page: &str) -> Vec<&str> {
    let texts = page.split('<').filter_map(|part| part.split_once('>'));
    let texts = texts.map(|(_, text)| text.trim());
    texts.filter(|text| !text.is_empty()).collect()
}

/// Returns true if the words appear in this order, with others between them.
fn in_order(texts: &[&str], words: &[&str]) -> bool {
    let mut texts = texts.iter();
    words.iter().all(|word| texts.any(|text| text == word))
}

#[test]
fn a_report_is_one_file_with_everything_in_its_order() {
    let place = Place::new(&[("results", made("table-4.2", received))]);
    let said = place.ok("report results");
    assert!(said.ends_with("report: results/report.html\n"), "{said}");
    let page = place.read("results/report.html");
    let texts = texts(&page);
    let parts = [
        "A table, again: does the order hold?",
        "Verdict",
        "Body received (more is better):",
        "mechanism",
        "is best in 3 of 4 rows (median 30.00 MB),",
        "in 1 (10.00).",
        "rows in which it is best",
        "3 of 4",
        "petra-lab run plans/table-4.2.toml --seeds 3 -o results",
        "Expected",
        "holds",
        "does not hold",
        "row 2: 1.50 against 2.50",
        "Printed and measured: as printed",
        "Whether the order holds: packet-scaled",
        "Body received, MB (more is better)",
        // As the plan's description calls it.
        "received_mb",
        "What the rows set",
        "The plan",
        "Distributions",
    ];
    assert!(in_order(&texts, &parts), "{texts:?}");
    // A row: case, the other axis, a mean and its interval for each
    // controller, what was printed.
    let start = texts.iter().position(|it| *it == "received_mb").unwrap();
    let head = ["case", "reading", "mechanism", "westwood", "reno"];
    assert_eq!(texts[start + 1..][..head.len()], head);
    let row = [
        "row 1",
        "as printed",
        "30.00",
        "± 0.25",
        "20.00",
        "± 0.25",
        "10.00",
    ];
    assert!(in_order(&texts, &row), "{texts:?}");
    assert!(in_order(
        &texts,
        &["printed.petra", "17.1", "16.84", "4.27"]
    ));
    // Nothing from anywhere else: the only addresses are XML's name of SVG.
    let elsewhere =
        page.matches("://").count() - page.matches("http://www.w3.org/2000/svg").count();
    assert_eq!(elsewhere, 0);
    for sign in ["<script ", "<link", "<img", "url(", "@import", "fetch("] {
        assert!(!page.contains(sign), "{sign}");
    }
    // The page's own script, which is small.
    let (_, script) = page.split_once("<script>").unwrap();
    let (script, rest) = script.split_once("</script>").unwrap();
    assert!(script.len() < 6_000 && !rest.contains("<script"));
    // Landmarks, and boxes that scroll by keyboard, each with a name.
    assert!(page.contains("<main>"));
    assert!(page.contains("\" aria-label=\"Rows &amp; &lt;b&gt;columns&lt;/b&gt;\">"));
    let boxes = page.matches("class=\"scroll\"").count();
    assert!(boxes > 0);
    let focusable = "class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"";
    assert_eq!(page.matches(focusable).count(), boxes);
    assert!(page.contains("data-x=\"") && page.contains("data-s=\"westwood\""));
    // What results say is text and never markup.
    assert!(page.contains("Rows &amp; &lt;b&gt;columns&lt;/b&gt;") && !page.contains("<b>columns"));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(page.contains("<pre>seeds = 3 # &lt;all&gt;\n</pre>"));
    assert!(page.contains("prefers-color-scheme:dark") && page.contains("width=device-width"));
}

#[test]
fn a_report_explains_the_metrics_that_it_shows() {
    let shows = |name: &str, metrics: &[&str]| {
        let mut made = made(name, received);
        made.manifest.metrics = metrics.iter().map(|it| it.to_string()).collect();
        made
    };
    let place = Place::new(&[
        ("results", shows("one", &["share_of_limit", "received_mb"])),
        ("results", shows("two", &["received_mb", "queue_mean_ms"])),
    ]);
    place.ok("report results");
    let page = place.read("results/report.html");
    let (_, legend) = page.split_once("How to read this page").unwrap();
    let (legend, _) = legend.split_once("</details>").unwrap();
    let words = [
        "oracle",
        "is the laboratory's, the others are PETRA and what it is compared with. ",
        "Body received, MB",
        ": Bytes of bodies that the client received.",
        "Share of the goodput limit",
        ": Goodput over what the narrowest link can carry in that time, after losses and headers, \
         for a sender that knows the rate of every moment.",
        "Queueing delay, mean, ms",
        "The limit of the share knows that future.",
    ];
    let found = words.map(|word| legend.matches(word.trim()).count());
    assert_eq!(found, [2, 1, 1, 1, 1, 1, 1, 1], "{legend}");
    for missing in ["Queueing delay, median", "Jain"] {
        assert!(!legend.contains(missing), "{missing}");
    }
}

#[test]
fn seeds_that_change_nothing_are_said_to() {
    let same = made("same", |_, _, controller, _| controller as f64);
    let place = Place::new(&[("same", same), ("other", made("other", received))]);
    let says = ["same", "other"].map(|folder| {
        place.ok(&format!("report {folder}"));
        let page = place.read(&format!("{folder}/report.html"));
        page.contains("3 seeds, each of which gave these figures")
    });
    assert_eq!(says, [true, false]);
}

#[test]
fn what_rows_set_is_a_list_apart_from_the_tables() {
    let mut long = made("steps", received);
    // As in results of earlier versions.
    long.manifest.printed = None;
    let steps = "[{ at = 5s, rate = 20mbit }]";
    for row in &mut long.rows {
        row.settings
            .push(("link.steps".to_owned(), steps.to_owned()));
        row.references.clear();
    }
    let place = Place::new(&[("results", long)]);
    place.ok("report results");
    let page = place.read("results/report.html");
    let texts = texts(&page);
    assert_eq!(page.matches(steps).count(), 4, "once for each row");
    let row = [
        "What the rows set",
        "row 2, reading as printed:",
        "link.1.loss = 0.5%",
    ];
    assert!(in_order(&texts, &row), "{texts:?}");
    // The tables have the rows' names and no more.
    assert!(!texts.contains(&"0.5%"));
}

#[test]
fn every_plot_is_in_the_page_and_beside_it_with_its_command() {
    let place = Place::new(&[("results", made("table-4.2", received))]);
    place.ok("report results -o all.html");
    let page = place.read("all.html");
    let files: Vec<PathBuf> = place
        .path("all.plots")
        .read_dir()
        .unwrap()
        .map(|it| it.unwrap().path())
        .collect();
    let pictures: Vec<&PathBuf> = files
        .iter()
        .filter(|it| it.extension().unwrap() == "svg")
        .collect();
    assert_eq!(files.len(), 3 * pictures.len());
    assert_eq!(page.matches("<svg").count(), pictures.len());
    let command =
        "petra-lab run plans/table-4.2.toml --seeds 3 -o results && petra-lab report results";
    assert_eq!(
        page.matches(&command.replace("&", "&amp;")).count(),
        pictures.len()
    );
    for svg in pictures {
        let text = fs::read_to_string(svg).unwrap();
        let document = roxmltree::Document::parse(&text).expect("an SVG is XML");
        let mut elements = document.descendants();
        let about = elements.find(|it| it.tag_name().name() == "desc");
        assert!(about.unwrap().text().unwrap().ends_with(command), "{text}");
        let name = svg.file_stem().unwrap().to_str().unwrap();
        assert!(
            page.contains(&format!("href=\"all.plots/{name}.svg\"")),
            "{name}"
        );
        let pdf = fs::read(svg.with_extension("pdf")).unwrap();
        assert!(pdf.starts_with(b"%PDF-") && pdf.ends_with(b"%%EOF"));
        let file = fs::File::open(svg.with_extension("png")).unwrap();
        let image = png::Decoder::new(std::io::BufReader::new(file))
            .read_info()
            .unwrap();
        assert!(image.info().width > 600 && image.info().height > 100);
        let texts = &image.info().utf8_text;
        assert!(texts
            .iter()
            .any(|it| it.get_text().unwrap().ends_with(command)));
    }
}

#[test]
fn every_command_and_link_of_a_report_works_when_it_is_pasted() {
    let place = Place::new(&[]);
    place.ok("sim --cc reno --cc cubic --duration 1s --series --qlog -o out");
    let report = place.ok("report out");
    assert!(report.contains("report: out/report.html"), "{report}");
    place.ok("frontier out --against queue_mean_ms -o figures");
    let program = Path::new(env!("CARGO_BIN_EXE_petra-lab"));
    let path = format!("{}:{}", program.parent().unwrap().display(), env!("PATH"));
    let page = place.read("out/report.html");
    for folder in ["out/report.plots", "figures"] {
        let mut files = place
            .path(folder)
            .read_dir()
            .unwrap()
            .map(|it| it.unwrap().path());
        let svg = files.find(|it| it.extension().is_some_and(|kind| kind == "svg"));
        let text = fs::read_to_string(svg.unwrap()).unwrap();
        let (_, command) = text.split_once("Made by: ").unwrap();
        let command = command.split_once("</desc>").unwrap().0;
        let command = command.replace("&amp;", "&");
        assert!(
            command.starts_with("petra-lab sim --cc reno --cc cubic"),
            "{command}"
        );
        assert!(command.contains(" -o out && petra-lab "), "{command}");
        let mut shell = Command::new("sh");
        let shell = shell.arg("-c").arg(&command).env("PATH", &path);
        let output = shell.current_dir(&place.folder).output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
    }
    // From beside the results, and from other folders.
    fs::create_dir_all(place.path("pages/a")).unwrap();
    place.ok("report out -o pages/a/report.html");
    place.ok("report out -o report.html --plots pages");
    for name in ["out/report.html", "pages/a/report.html", "report.html"] {
        let (page, base) = (place.read(name), place.path(name));
        let links: Vec<&str> = links(&page).collect();
        let is_local = |it: &&&str| !it.contains("://") && !it.starts_with('#');
        assert!(links.iter().filter(is_local).count() > 4, "{name}");
        for link in links.iter().filter(is_local) {
            let target = base.parent().unwrap().join(link);
            assert!(target.exists(), "{name}: {link}");
        }
    }
    let links: Vec<&str> = links(&page).collect();
    let copies = links.iter().filter(|it| it.ends_with(".qvis.sqlog"));
    // What may be above the rate of the link is drawn with it.
    assert!(page.contains(">rate of the link<") && page.contains("may exceed the rate"));
    // Of both ends of two runs.
    assert_eq!(copies.count(), 4);
}

fn links(page: &str) -> impl Iterator<Item = &str> {
    let links = page.split("href=\"").skip(1);
    links.map(|it| it.split_once('"').unwrap().0)
}

#[test]
fn labels_with_units_have_their_number_for_sorting() {
    let mut results = made("table-4.2", received);
    let values = ["500ms", "2s"];
    results.manifest.axes[1].values = values.map(str::to_owned).into();
    for row in &mut results.rows {
        let (_, reading) = row
            .settings
            .iter_mut()
            .find(|it| it.0 == "reading")
            .unwrap();
        let index = READINGS.iter().position(|it| it == reading).unwrap();
        *reading = values[index].to_owned();
    }
    let place = Place::new(&[("results", results)]);
    place.ok("report results");
    let page = place.read("results/report.html");
    for cell in ["data-v=\"0.5\">500ms</td>", "data-v=\"2\">2s</td>"] {
        assert!(page.contains(cell), "{cell}");
    }
    assert!(page.contains("<th>row 1</th>"), "row 1");
}

#[test]
fn titles_of_several_lines_and_plans_of_one_slug_have_whole_tables() {
    let mut results = made("a b", received);
    results.manifest.title = "Rows\n\nand columns".to_owned();
    let place = Place::new(&[("results", results), ("results", made("a-b", received))]);
    let said = place.ok("report results --tables tables");
    assert!(said.contains("4 tables: tables\n"), "{said}");
    let tables = fs::read_dir(place.path("tables")).unwrap();
    assert_eq!(tables.count(), 8);
    let latex = place.read("tables/a-b-received-mb.tex");
    assert!(latex.contains("Rows and columns"), "{latex}");
    assert!(!latex.contains("\n\n"), "{latex}");
}

#[test]
fn a_report_is_written_last() {
    let place = Place::new(&[("results", made("table-4.2", received))]);
    let error = place.fails("report results --tables /proc/nowhere");
    assert!(error.contains("/proc/nowhere"), "{error}");
    assert!(!place.path("results/report.html").exists());
}

#[test]
fn tables_come_as_latex_and_csv() {
    let place = Place::new(&[("results", made("table-4.2", received))]);
    let said = place.ok("report results --tables tables");
    assert!(said.contains("tables: tables\n"), "{said}");
    let latex = place.read("tables/table-4.2-received-mb.tex");
    for part in [
        "% petra-lab run plans/table-4.2.toml --seeds 3 -o results\n",
        "\\begin{tabular}{llrrr}\n",
        "case & reading & mechanism & westwood & reno \\\\\n",
        "row 1 & as printed & $30.00 \\pm 0.25$ & $20.00 \\pm 0.25$ & $10.00",
        "Rows \\& \\textless{}b\\textgreater{}columns\\textless{}/b\\textgreater{}",
    ] {
        assert!(latex.contains(part), "{part}\nis not in\n{latex}");
    }
    let csv = place.read("tables/table-4.2-received-mb.csv");
    assert!(
        csv.starts_with("case,reading,controller,metric,mean,interval,runs\n"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 1 + 4 * 3);
}

#[test]
fn the_order_of_each_row_holds_is_undecided_or_reversed() {
    let place = Place::new(&[("results", made("table-4.2", received))]);
    place.ok("report results");
    let page = place.read("results/report.html");
    let texts = texts(&page);
    // As printed: row 1 holds, row 2 is undecided and reversed.
    let counts = [
        "as printed, 2 rows",
        "mechanism over westwood",
        "2",
        "1",
        "1",
        "0",
        "westwood over reno",
        "1",
        "0",
        "1",
        "1 known deviation",
        "packet-scaled, 2 rows",
        "mechanism over westwood",
        "2",
        "0",
        "0",
        "No order is reversed in any row.",
    ];
    assert!(in_order(&texts, &counts), "{texts:?}");
    // Ratios, printed and measured: 17.1 / 16.84 and 30 / 20. Both means have
    // the error 0.1 / sqrt 3, and t of 4 degrees of freedom is 2.776: by
    // Fieller the interval is 1.5 ± 2.776 x 0.0577 / 20 x sqrt(1 + 1.5^2).
    let start = texts
        .iter()
        .position(|it| it.starts_with("Printed and measured"))
        .unwrap();
    assert!(in_order(
        &texts[start..],
        &["row 1", "17.10", "16.84", "4.27", "1.02"]
    ));
    assert!(
        texts[start..]
            .iter()
            .any(|it| it.starts_with("1.50 [1.49, 1.51]")),
        "{texts:?}"
    );
    assert!(in_order(
        &texts[start..],
        &["row 2", "undecided", "reversed"]
    ));
}

#[test]
fn one_seed_decides_nothing_and_the_report_says_so() {
    let mut one = made("one", received);
    one.manifest.seeds.truncate(1);
    one.rows.retain(|row| row.seed == 1);
    let place = Place::new(&[("one", one), ("three", made("three", received))]);
    let page = |folder: &str| {
        place.ok(&format!("report {folder} --markdown {folder}.md"));
        place.read(&format!("{folder}/report.html"))
    };
    let (one, three) = (page("one"), page("three"));
    for part in [
        "One seed decides nothing",
        "<code>--seeds 10</code>",
        "One seed has no interval and cannot decide an order.",
        "One seed, sim: a difference may be chance.",
    ] {
        assert!(one.contains(part), "{part}");
        assert!(part.starts_with("<code") || !three.contains(part), "{part}");
    }
    // Verdicts count the best values all the same, but no value is bold.
    assert!(in_order(
        &texts(&one),
        &["mechanism", "is best in 3 of 4 rows (median 30.10 MB),"]
    ));
    assert!(!one.contains("class=\"best\"") && three.contains("class=\"best\""));
    let note = "cannot decide an order. Ten (`--seeds 10`) would.\n\n";
    assert!(place.read("one.md").contains(note) && !place.read("three.md").contains(note));
}

#[test]
fn a_value_that_was_not_printed_is_a_dash_and_orders_are_optional() {
    let mut made = made("paper", received);
    let printed = made.manifest.printed.as_mut().unwrap();
    printed.columns.truncate(2);
    printed.orders.clear();
    let second = |row: &&mut Row| row.case.as_deref() == Some("row 2");
    for row in made.rows.iter_mut().filter(second) {
        row.references[0].1 = None;
    }
    let place = Place::new(&[("results", made)]);
    place.ok("report results --markdown page.md");
    let page = place.read("page.md");
    for part in [
        "PETRA printed | TCPW printed | mechanism | westwood | PETRA/TCPW printed | measured |",
        "| row 1 | 0.5% | 17.10 | 16.84 | 30.00 ± 0.25 | 20.00 ± 0.25 | 1.02 | 1.50 [",
        "| row 2 | 0.5% | – | 16.84 | 30.00 ± 0.25 | 20.00 ± 0.25 | – | 1.50 [",
    ] {
        assert!(page.contains(part), "{part}\nis not in\n{page}");
    }
    for page in [page, place.read("results/report.html")] {
        assert!(!page.contains("the order") && !page.contains("undecided"));
    }
}

#[test]
fn flows_over_time_are_drawn_where_there_are_some() {
    let mut made = made("table-4.2", received);
    made.manifest.series = true;
    made.rows.retain(|row| row.case.as_deref() == Some("row 2"));
    let place = Place::new(&[("results", made)]);
    let error = place.fails("report results");
    assert!(
        error.contains("cannot read the series results/series/3-1.csv"),
        "{error}"
    );
    assert!(!place.path("results/report.html").exists());

    fs::create_dir(place.path("results/series")).unwrap();
    for point in 0..12 {
        let mut text =
            "flow,cc,seconds,cwnd_bytes,in_flight_bytes,rtt_ms,queue_ms,body_bytes\n".to_owned();
        for step in 0..100 {
            text += &format!(
                "0,x,{step},{},100,{},{},{}\n",
                step * 7 % 31,
                90 + step % 9,
                step % 9,
                step * 1000
            );
        }
        fs::write(place.path(&format!("results/series/{point}-1.csv")), text).unwrap();
    }
    place.ok("report results");
    let page = place.read("results/report.html");
    for title in [
        "Goodput over time, row 2, reading packet-scaled",
        "RTT over the run, row 2, reading as printed",
        "westwood: window, row 2, reading as printed",
        "reno: delays, row 2, reading as printed",
    ] {
        assert!(
            page.contains(&format!("<strong>{title}</strong>")),
            "{title}"
        );
    }
    // The window is a line; bytes in flight and ssthresh have dashes, and so do
    // controllers beside each other.
    let alone = page.split("<strong>westwood: window").nth(1).unwrap();
    let alone = alone.split("</figure>").next().unwrap();
    assert_eq!(alone.matches("stroke-dasharray=\"2 2\"").count(), 2);
    let together = page.split("<strong>Goodput over time").nth(1).unwrap();
    let together = together.split("</figure>").next().unwrap();
    assert_eq!(
        together.matches("stroke-dasharray").count(),
        6,
        "{together}"
    );
    // No estimate was there to be drawn.
    assert!(!page.contains("<strong>westwood: rates"));
}

#[test]
fn the_numbers_go_into_a_page_with_the_causes_of_known_deviations() {
    let mut made = made("table-4.2", received);
    made.manifest.known_deviations = vec![KnownDeviation {
        controllers: Vec::new(),
        labels: Vec::new(),
        than: Vec::new(),
        because: "For this | reason.".to_owned(),
    }];
    let place = Place::new(&[("results", made)]);
    fs::write(place.path("page.md"), "# Words\n").unwrap();
    assert!(place
        .fails("report results --markdown page.md")
        .contains("no place for the numbers"));
    place.ok("report results --markdown new.md");
    let page = place.read("new.md");
    assert!(page.contains("petra-lab run plans/table-4.2.toml --seeds 3"));
    assert!(page.contains("**reversed**") && page.contains("| 1 |\n\n1. For this | reason.\n"));
    assert!(place
        .read("results/report.html")
        .contains("For this | reason."));
    // Again, it is the same.
    place.ok("report results --markdown new.md");
    assert_eq!(place.read("new.md"), page);
}

#[test]
fn pictures_of_windows_come_in_the_frames_of_the_plan() {
    let mut made = made("figure", received);
    made.manifest.series = true;
    made.manifest.frames =
        serde_json::from_str(r#"{"from":"0s","to":"50s","each":"25s"}"#).unwrap();
    made.rows.retain(|row| row.case.as_deref() == Some("row 1"));
    let place = Place::new(&[("results", made)]);
    fs::create_dir(place.path("results/series")).unwrap();
    for point in 0..12 {
        let lines = (0..100).map(|step| format!("0,x,{step},{}\n", 1000 * step));
        let text: String = lines.collect();
        let text = format!("flow,cc,seconds,cwnd_bytes\n{text}");
        fs::write(place.path(&format!("results/series/{point}-1.csv")), text).unwrap();
    }
    place.ok("report results");
    let page = place.read("results/report.html");
    for frame in ["0 to 25 s", "25 to 50 s"] {
        let title = format!("<strong>Windows, {frame}, row 1, reading as printed</strong>");
        assert!(page.contains(&title), "{title}");
    }
    assert!(!page.contains("50 to 75 s"));
}

#[test]
fn results_that_are_missing_or_broken_are_told_and_nothing_is_written() {
    let place = Place::new(&[("results", made("table-4.2", received))]);
    let says = |words: &str, says: &str| {
        let error = place.fails(words);
        assert!(error.contains(says), "{says}\nis not in\n{error}");
    };
    says("report nowhere", "nowhere: cannot be read");
    fs::create_dir(place.path("empty")).unwrap();
    says("report empty", "empty: no results");
    says("compare results empty", "empty: no results");
    says("report results -o empty", "empty: a folder");

    let csv = place.read("results/table-4.2.csv");
    fs::write(
        place.path("results/table-4.2.csv"),
        csv.replacen(",30.1,", ",much,", 1),
    )
    .unwrap();
    says("report results", "`received_mb` is `much`, no number");
    fs::write(place.path("results/table-4.2.csv"), &csv[..csv.len() - 30]).unwrap();
    says("report results", "table-4.2.csv");
    let lines: Vec<&str> = csv.split_inclusive('\n').collect();
    let short = lines[..lines.len() - 1].concat();
    fs::write(place.path("results/table-4.2.csv"), short).unwrap();
    says("report results", "results/table-4.2.csv has 35 rows where");
    fs::write(place.path("results/table-4.2.json"), "{").unwrap();
    says(
        "report results",
        "results/table-4.2.json is not of a plan's results",
    );
    assert!(!place.path("results/report.html").exists());
    assert!(!place.path("results/report.plots").exists());
}

#[test]
fn two_sets_are_compared_row_by_row() {
    // B: the mechanism is twice as good in all rows, the rest is as it was.
    let double = |reading, case, controller, seed| {
        let times = if controller == 0 { 2.0 } else { 1.0 };
        times * received(reading, case, controller, seed)
    };
    let other = made("other", received);
    let mut less = made("table-4.2", double);
    less.manifest.files[0].text += "aqm = \"codel\"\n";
    less.rows
        .retain(|row| row.controller != "reno" || row.case.as_deref() == Some("row 1"));
    let place = Place::new(&[
        ("a", made("table-4.2", received)),
        ("a", other),
        ("b", less),
        ("b", made("new", received)),
    ]);
    let said = place.ok("compare a b --metric received_mb -o page.html");
    assert!(
        said.contains("Body received, MB: 4 of 10 differ, 6 the same to the last digit"),
        "{said}"
    );
    assert!(
        said.contains("plan of A: nothing else\n  plan of B: aqm = \"codel\"\n"),
        "{said}"
    );
    let line = said
        .lines()
        .find(|line| line.contains("row 1, reading as printed"))
        .unwrap();
    for word in [
        "mechanism",
        "30.00 ± 0.25",
        "60.00 ± 0.50",
        "+30.00 ± 0.4",
        "2.00 [1.98, 2.02]",
        "* better",
    ] {
        assert!(line.contains(word), "{word}: {line}");
    }
    assert!(!said.contains(" westwood "), "{said}");
    assert!(
        said.contains("only in A:\n  row 2, reading as printed: reno"),
        "{said}"
    );
    assert!(
        said.contains("only in A: other\n\nonly in B: new"),
        "{said}"
    );
    let page = place.read("page.html");
    assert!(
        page.contains("+30.00") && page.contains("* better"),
        "{page}"
    );

    let said = place.ok("compare b a --metric queue_mean_ms --all");
    assert!(
        said.contains(" westwood ") && said.contains("* better"),
        "{said}"
    );
    // Of `reno`, half of the rows are in both.
    let said = place.ok("compare a b --metric received_mb --metric loss_percent --summary");
    for line in [
        "| table-4.2 | `mechanism` | Body received, MB | 4 | 0 | 4 | 2.000 | 2.0000 | 2.000 |",
        "| table-4.2 | `reno` | Body received, MB | 2 | 0 | 0 | 1.000 | 1.0000 | 1.000 |",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    // One plan each: compared whatever their names are.
    let said = place.ok("compare a/other.json b/new.json");
    assert!(
        said.contains("other, new") && said.contains("0 of 12 differ, 12 the same"),
        "{said}"
    );
    // Two folders without a common plan.
    fs::remove_file(place.path("b/table-4.2.json")).unwrap();
    made("newer", received).write(&place.path("b"));
    let error = place.fails("compare a b");
    assert!(
        error.contains("have no plan in common: other, table-4.2 and new, newer"),
        "{error}"
    );
}
