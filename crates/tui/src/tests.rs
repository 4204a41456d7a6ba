//! Screens, keys and ceilings, from captures and without a terminal.

mod saved;

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ringtap_capture::{Capture, Merge};
use ringtap_engine::{Config, Counters, Engine, Sink, SipSeen, StreamEnd};
use ringtap_live::calls::{Limits, LiveCalls, View, ids, is_under_way};
use ringtap_model::{Call, Frame, Message, Nanos, Registration, Stream};
use ringtap_report::text;
use ringtap_testing::samples::{golden, manual};

use crate::app::{App, Effect, Page, Row};
use crate::input::{handle, on_mouse};
use crate::{draw, save};

const LIMITS: Limits =
    Limits { calls: 100, messages: 100, bytes: 64 << 20, media_bytes: 64 << 20, calls_only: false };

fn capture(path: &str) -> Capture {
    Capture::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path), None).unwrap()
}

/// What would be published after the first `frames` of a capture; all of it, and the end of the input,
/// without a number.
fn after(capture: Capture, frames: Option<usize>, limits: Limits) -> (View, LiveCalls) {
    let owned = Merge::new(&[capture]).owned();
    let all: Vec<Frame<'_>> = owned.iter().take(frames.unwrap_or(usize::MAX)).collect();
    let mut engine = Engine::new(Config::default());
    let mut calls = LiveCalls::new(limits);
    for batch in all.chunks(64) {
        engine.batch(batch, &mut calls.on(batch));
    }
    let mut view = View::empty("demo/calls.pcap".into(), limits);
    if frames.is_none() {
        engine.close(&mut calls.on(&[]));
        view.over = Some("end of the input".into());
    } else {
        for id in ids(calls.published().unwrap().iter()) {
            let (call, streams) = engine.snapshot(&id).unwrap();
            calls.refresh(call, streams);
        }
    }
    view.now = all.iter().map(|frame| frame.time).max().unwrap_or_default();
    view.counters = Counters { frames: all.len() as u64, ..engine.counters().clone() };
    view.under_way = engine.under_way();
    let begin = all.iter().map(|frame| frame.time).min().unwrap_or_default();
    let bytes: usize = all.iter().map(|frame| frame.data.len()).sum();
    let secs = view.now.since(begin).secs_f64().max(1.0);
    view.rate = (all.len() as f64 / secs, bytes as f64 * 8.0 / secs);
    view.totals = calls.totals.clone();
    view.entries = Arc::new(calls.published().unwrap_or_default());
    (view, calls)
}

fn demo(frames: Option<usize>) -> App {
    let mut app = App::new(Arc::new(View::empty(String::new(), LIMITS)));
    app.update(Arc::new(after(capture("demo/calls.pcap"), frames, LIMITS).0));
    app
}

fn press(app: &mut App, keys: &[KeyCode]) {
    for key in keys {
        let _ = handle(app, KeyEvent::new(*key, KeyModifiers::NONE));
    }
}

fn write(app: &mut App, text: &str) {
    press(app, &text.chars().map(KeyCode::Char).collect::<Vec<_>>());
}

fn buffer(app: &mut App, width: u16, height: u16) -> Buffer {
    app.resize(width, height);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw::draw(app, frame.area(), frame.buffer_mut(), true)).unwrap();
    terminal.backend().buffer().clone()
}

/// The screen as text.
fn screen(app: &mut App, width: u16, height: u16) -> String {
    let buffer = buffer(app, width, height);
    let mut text = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide character covers the cell after it.
            x += text::width(symbol).max(1) as u16;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[test]
fn the_list_at_three_widths() {
    // Some calls ring, some are talked in, some are over.
    let mut app = demo(Some(4_600));
    golden("live-list-80.txt", &screen(&mut app, 80, 24));
    let text = screen(&mut app, 120, 24);
    golden("live-list-120.txt", &text);
    manual("live.md", "list", &text);
    golden("live-list-200.txt", &screen(&mut app, 200, 24));
    assert!(text.contains("active") && text.contains("ringing") && text.contains("completed"), "{text}");
}

#[test]
fn the_ladder_with_its_message() {
    let mut app = demo(None);
    press(&mut app, &[KeyCode::Down, KeyCode::Down, KeyCode::Enter, KeyCode::Down]);
    assert_eq!(app.page(), Page::Flow);
    golden("live-flow-80.txt", &screen(&mut app, 80, 24));
    let text = screen(&mut app, 130, 30);
    golden("live-flow-130.txt", &text);
    manual("live.md", "flow", &text);
    // A stream has its figures there.
    press(&mut app, &[KeyCode::Down, KeyCode::Down, KeyCode::Down]);
    let text = screen(&mut app, 130, 30);
    assert!(text.contains("RTP PCMA") && text.contains("SSRC") && text.contains("Jitter"), "{text}");
    press(&mut app, &[KeyCode::Char('t')]);
    golden("live-flow-alone-100.txt", &screen(&mut app, 100, 24));
}

#[test]
fn several_calls_in_one_ladder() {
    let mut app = demo(None);
    press(&mut app, &[KeyCode::Char(' '), KeyCode::Down, KeyCode::Down, KeyCode::Char(' '), KeyCode::F(4)]);
    let messages: usize = app.open.iter().map(|entry| entry.messages.len()).sum();
    assert_eq!((app.open.len(), app.flow.len()), (2, messages + app.streams().count()));
    assert!(app.flow.is_sorted_by_key(|row| row.time()));
    golden("live-extended-120.txt", &screen(&mut app, 120, 24));
    let colours = |app: &mut App| {
        let buffer = buffer(app, 120, 24);
        let mut found: Vec<String> = buffer.content().iter().map(|cell| format!("{:?}", cell.fg)).collect();
        found.sort();
        found.dedup();
        found
    };
    let by_kind = colours(&mut app);
    press(&mut app, &[KeyCode::Char('c')]);
    assert_ne!(colours(&mut app), by_kind);
}

#[test]
fn messages_streams_and_counts() {
    let mut app = demo(None);
    press(&mut app, &[KeyCode::Down, KeyCode::Down, KeyCode::F(6)]);
    golden("live-raw-80.txt", &screen(&mut app, 80, 24));
    press(&mut app, &[KeyCode::Esc, KeyCode::F(8)]);
    golden("live-streams-80.txt", &screen(&mut app, 80, 24));
    let text = screen(&mut app, 120, 20);
    golden("live-streams-120.txt", &text);
    manual("live.md", "streams", &text);
    press(&mut app, &[KeyCode::Esc, KeyCode::F(9)]);
    let text = screen(&mut app, 80, 48);
    golden("live-statistics-80.txt", &text);
    manual("live.md", "statistics", &text);
}

#[test]
fn what_stands_above() {
    let mut app = demo(None);
    press(&mut app, &[KeyCode::F(1)]);
    let text = screen(&mut app, 80, 24);
    golden("live-help-80.txt", &text);
    manual("live.md", "help", &text);
    press(&mut app, &[KeyCode::Esc, KeyCode::F(7)]);
    golden("live-filter-80.txt", &screen(&mut app, 80, 24));
    press(&mut app, &[KeyCode::Esc, KeyCode::F(2)]);
    golden("live-save-80.txt", &screen(&mut app, 80, 24));
    press(&mut app, &[KeyCode::Esc, KeyCode::Esc]);
    golden("live-quit-80.txt", &screen(&mut app, 80, 24));
    assert!(matches!(app.key(KeyEvent::from(KeyCode::Char('n'))), Effect::Nothing));
    press(&mut app, &[KeyCode::Char('q')]);
    assert!(matches!(app.key(KeyEvent::from(KeyCode::Enter)), Effect::Quit));
    let at_once = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(matches!(app.key(at_once), Effect::Quit));
}

#[test]
fn search_and_filter_choose() {
    let mut app = demo(None);
    let all = app.rows.len();
    press(&mut app, &[KeyCode::Char('/')]);
    write(&mut app, "REGISTER");
    assert_eq!(app.rows.len(), 2, "while it is typed");
    press(&mut app, &[KeyCode::Enter]);
    assert!(app.filter.is_set() && app.rows.len() == 2);
    press(&mut app, &[KeyCode::F(3), KeyCode::Esc]);
    assert_eq!(app.rows.len(), all);

    press(&mut app, &[KeyCode::F(7)]);
    write(&mut app, "+161");
    press(&mut app, &[KeyCode::Enter]);
    assert_eq!(app.rows.len(), 2, "From");
    press(
        &mut app,
        &[KeyCode::F(7), KeyCode::Delete, KeyCode::BackTab, KeyCode::BackTab, KeyCode::Char(' ')],
    );
    press(&mut app, &[KeyCode::Enter]);
    assert_eq!(app.rows.len(), 12, "calls only");
    press(&mut app, &[KeyCode::F(7), KeyCode::BackTab, KeyCode::Char(' '), KeyCode::Enter]);
    assert_eq!(app.rows.len(), 9, "completed");
    press(
        &mut app,
        &[KeyCode::F(7), KeyCode::Delete, KeyCode::Down, KeyCode::Down, KeyCode::Down, KeyCode::Down],
    );
    write(&mut app, "reason: q.850");
    press(&mut app, &[KeyCode::Enter]);
    assert!(app.rows.len() < all, "in the text of messages");
}

#[test]
fn order_stays_with_the_call() {
    let mut app = demo(None);
    press(&mut app, &[KeyCode::Down, KeyCode::Down, KeyCode::Down]);
    let current = app.current().unwrap().serial;
    let of = |app: &App| app.rows.iter().map(|place| app.view.entries[*place].count).collect::<Vec<_>>();
    press(&mut app, &[KeyCode::Char('>'); 5]);
    assert!(of(&app).is_sorted());
    press(&mut app, &[KeyCode::Char('z')]);
    assert!(of(&app).iter().rev().is_sorted());
    assert_eq!(app.current().unwrap().serial, current);
    press(&mut app, &[KeyCode::Char('<'); 5]);
    press(&mut app, &[KeyCode::Char('z')]);
    assert!(app.rows.is_sorted());
}

#[test]
fn a_held_picture_stays_and_autoscroll_follows() {
    let mut app = demo(Some(2_000));
    let early = app.rows.len();
    press(&mut app, &[KeyCode::Char('p')]);
    let later = Arc::new(after(capture("demo/calls.pcap"), None, LIMITS).0);
    app.update(Arc::clone(&later));
    assert_eq!(app.rows.len(), early);
    press(&mut app, &[KeyCode::Char('p'), KeyCode::Char('A')]);
    app.update(later);
    assert!(app.rows.len() > early && app.cursor == app.rows.len() - 1);
    press(&mut app, &[KeyCode::Up]);
    assert!(!app.follow, "who goes up wants to look at something");
}

#[test]
fn a_call_that_left_can_still_be_looked_at() {
    let mut app = demo(None);
    press(&mut app, &[KeyCode::Enter]);
    let before = screen(&mut app, 120, 24);
    app.update(Arc::new(View::empty(String::new(), LIMITS)));
    assert_eq!(screen(&mut app, 120, 24), before);
    press(&mut app, &[KeyCode::Esc]);
    assert!(app.current().is_none() && screen(&mut app, 80, 24).contains("No call yet."));
}

#[test]
fn ceilings_hold_and_are_counted() {
    let all = after(capture("demo/calls.pcap"), None, LIMITS).0;
    let few = Limits { calls: 5, messages: 3, ..LIMITS };
    let (view, _) = after(capture("demo/calls.pcap"), None, few);
    assert_eq!(view.totals.came - view.totals.left, view.entries.len() as u64);
    // An attempt that had to leave and is tried again comes again.
    assert!(view.entries.len() == 5 && (14..=16).contains(&view.totals.came), "{:?}", view.totals);
    assert!(view.totals.left_early < 5, "{:?}: those that were released left first", view.totals);
    assert!(view.entries.iter().all(|entry| entry.messages.len() <= 3));
    let kept: u64 = all.entries.iter().map(|entry| entry.messages.len() as u64).sum();
    assert_eq!((kept, all.totals.messages_left_out), (all.totals.messages, 0));
    assert!(view.totals.messages_left_out > 0);
    assert_eq!(view.totals.methods, all.totals.methods, "what is not kept is counted all the same");

    let small = Limits { bytes: 40_000, ..LIMITS };
    let (view, mut calls) = after(capture("demo/calls.pcap"), None, small);
    assert!(view.totals.bytes <= 40_000 && view.totals.left > 0, "{}", view.totals.bytes);
    assert!(view.entries.len() > 2);
    calls.clear();
    assert_eq!((calls.totals.bytes, calls.totals.messages), (0, 0));
    assert_eq!(calls.totals.came, view.totals.came);

    let calls = after(capture("demo/calls.pcap"), None, Limits { calls_only: true, ..LIMITS }).0;
    assert!(calls.entries.len() == 12 && calls.entries.iter().all(|entry| entry.call.is_some()));
}

#[test]
fn the_oldest_that_ended_leaves_before_one_under_way() {
    let (full, _) = after(capture("demo/calls.pcap"), Some(4_600), LIMITS);
    let (view, _) =
        after(capture("demo/calls.pcap"), Some(4_600), Limits { calls: full.entries.len() - 1, ..LIMITS });
    assert_eq!((view.totals.left, view.totals.left_early), (1, 0));
    let gone = full
        .entries
        .iter()
        .find(|entry| !view.entries.iter().any(|other| other.serial == entry.serial))
        .unwrap();
    assert_eq!((gone.serial, gone.state().as_str()), (0, "failed 486"));
    // With room for little more than those under way, they are what stays.
    let serials = |view: &View| -> Vec<u64> {
        view.entries.iter().filter(|entry| is_under_way(entry)).map(|entry| entry.serial).collect()
    };
    let (view, _) = after(capture("demo/calls.pcap"), Some(4_600), Limits { calls: 8, ..LIMITS });
    assert!(view.entries.len() == 8 && view.totals.left_early == 0, "{:?}", view.totals);
    assert_eq!(serials(&view).len(), serials(&full).len());
}

/// Counts SIP messages, and says which Call-IDs they had.
#[derive(Default)]
struct Seen(Vec<String>);

impl Sink for Seen {
    const PACKETS: bool = true;
    fn call(&mut self, _: Call, _: Vec<StreamEnd>) {}
    fn stream(&mut self, _: StreamEnd) {}
    fn registration(&mut self, _: Registration) {}
    fn message(&mut self, _: Message) {}
    fn sip(&mut self, seen: &SipSeen<'_>) {
        let call_id = seen.message.call_id().map(String::from_utf8_lossy).unwrap_or_default();
        self.0.push(format!("{} {call_id} {} {}", seen.time.0, seen.src, seen.dst));
    }
}

fn seen(capture: Capture) -> Vec<String> {
    let owned = Merge::new(&[capture]).owned();
    let frames: Vec<Frame<'_>> = owned.iter().collect();
    let mut seen = Seen::default();
    let mut engine = Engine::new(Config::default());
    engine.batch(&frames, &mut seen);
    engine.close(&mut seen);
    seen.0
}

#[test]
fn the_code_stands_beside_failed_and_can_be_searched() {
    let mut app = demo(None);
    let text = screen(&mut app, 120, 24);
    assert!(text.contains("failed 486") && text.contains("failed 480"), "{text}");
    press(&mut app, &[KeyCode::Char('/')]);
    write(&mut app, "486");
    assert_eq!(app.rows.len(), 1);
    press(&mut app, &[KeyCode::Esc, KeyCode::Char('/')]);
    write(&mut app, "487");
    assert_eq!(app.rows.len(), 1, "the code of a cancelled call");
}

fn click(app: &mut App, column: u16, row: u16) {
    let kind = MouseEventKind::Down(MouseButton::Left);
    let _ = on_mouse(app, MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
}

#[test]
fn clicks_choose_open_and_sort() {
    let mut app = demo(None);
    screen(&mut app, 120, 24);
    click(&mut app, 5, 6);
    assert_eq!((app.cursor, app.page()), (2, Page::List));
    click(&mut app, 5, 6);
    assert_eq!(app.page(), Page::Flow, "a second click opens");
    let messages = app.flow.len();
    click(&mut app, 5, 4);
    assert_eq!(app.step, 2);
    click(&mut app, 5, 4);
    assert_eq!(app.page(), Page::Raw { one: Some(2) });
    press(&mut app, &[KeyCode::Esc]);
    click(&mut app, 5, 2 + messages as u16);
    assert_eq!(app.step, 2, "there is no row");
    press(&mut app, &[KeyCode::Esc]);
    // The heading of each column, and below the list.
    let heading = screen(&mut app, 120, 24).lines().nth(3).unwrap().to_owned();
    click(&mut app, heading.find("MOS").unwrap() as u16, 3);
    assert_eq!((app.sort, app.descending), (crate::app::Sort::Mos, false));
    click(&mut app, heading.find("MOS").unwrap() as u16, 3);
    assert!(app.descending);
    let cursor = app.cursor;
    click(&mut app, 5, 23);
    assert_eq!(app.cursor, cursor);
    let wheel =
        MouseEvent { kind: MouseEventKind::ScrollDown, column: 0, row: 0, modifiers: KeyModifiers::NONE };
    press(&mut app, &[KeyCode::Home]);
    let _ = on_mouse(&mut app, wheel);
    assert_eq!(app.cursor, 3);
    assert!(matches!(app.key(KeyEvent::from(KeyCode::Char('M'))), Effect::Mouse(false)));
}

#[test]
fn two_messages_are_compared_side_by_side() {
    let mut app = demo(None);
    press(&mut app, &[KeyCode::Down, KeyCode::Down, KeyCode::Enter, KeyCode::Char(' ')]);
    assert!(screen(&mut app, 120, 30).contains("*"), "the first is marked");
    let again = app.flow.iter().position(|row| matches!(row, Row::Sip(m, _) if m.label.starts_with("re-")));
    press(&mut app, &vec![KeyCode::Down; again.unwrap()]);
    press(&mut app, &[KeyCode::Char(' ')]);
    assert_eq!(app.page(), Page::Compare);
    let text = screen(&mut app, 130, 40);
    golden("live-compare-130.txt", &text);
    manual("live.md", "compare", &text);
    harmless(&mut app, 60, 12);
    press(&mut app, &[KeyCode::Down, KeyCode::End, KeyCode::Esc]);
    assert_eq!(app.page(), Page::Flow);
}

#[test]
fn colours_are_by_method_or_by_call() {
    let mut app = demo(None);
    press(&mut app, &[KeyCode::Down, KeyCode::Down, KeyCode::Enter]);
    let colour = |app: &mut App, word: &str| {
        let buffer = buffer(app, 100, 30);
        let width = buffer.area.width as usize;
        let text: Vec<&str> = buffer.content().iter().map(|cell| cell.symbol()).collect();
        let row = (3..20).find(|row| text[row * width..(row + 1) * width].concat().contains(word)).unwrap();
        let line = &text[row * width..(row + 1) * width];
        let at = (0..width).find(|at| line[*at..].concat().starts_with(word)).unwrap();
        buffer.content()[row * width + at].fg
    };
    let methods = [colour(&mut app, "200 OK"), colour(&mut app, "re-INVITE"), colour(&mut app, "BYE")];
    assert!(methods[0] != methods[1] && methods[1] != methods[2] && methods[0] != methods[2]);
    press(&mut app, &[KeyCode::Char('c')]);
    assert_eq!(colour(&mut app, "200 OK"), colour(&mut app, "re-INVITE"));
    assert!(screen(&mut app, 100, 30).contains("[colours by call]"));
}

#[test]
fn a_tall_terminal_has_a_tall_chart() {
    let mut app = demo(None);
    let at = app.rows.iter().position(|place| app.view.entries[*place].streams.iter().any(|s| s.lost > 0));
    press(&mut app, &vec![KeyCode::Down; at.unwrap()]);
    press(&mut app, &[KeyCode::F(8)]);
    let text = screen(&mut app, 120, 40);
    golden("live-chart-120.txt", &text);
    assert!(text.matches('█').count() > 20, "{text}");
}

#[test]
fn no_stream_of_an_earlier_call_is_shown_with_a_later_one() {
    let (view, mut calls) = after(capture("demo/calls.pcap"), Some(4_600), LIMITS);
    let entry = view.entries.iter().find(|entry| is_under_way(entry) && !entry.streams.is_empty()).unwrap();
    let call = entry.call.clone().unwrap();
    let start = call.start().unwrap();
    // What passed at the same ports before the call.
    let before = Stream {
        ssrc: 1,
        first: start - Nanos::from_secs(60),
        last: start - Nanos::from_millis(1),
        ..entry.streams[0].clone()
    };
    let mut streams = entry.streams.clone();
    streams.insert(0, before);
    calls.refresh(call, streams);
    let now = calls.published().unwrap();
    let now = now.iter().find(|other| other.serial == entry.serial).unwrap();
    assert_eq!(now.streams.len(), entry.streams.len());
    assert!(now.streams.iter().all(|stream| stream.ssrc != 1));
}

/// A message in an Ethernet frame, with whatever text in it.
fn hostile(name: &str) -> Capture {
    let sip = format!(
        "INVITE sip:{name}@x SIP/2.0\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\n\
         From: \"{name}\" <sip:{name}@{name}>;tag=1\r\nTo: <sip:{name}>\r\nCall-ID: {name}\r\n\
         CSeq: 1 INVITE\r\nSubject: {name}\r\n\r\n{name}"
    );
    let mut data = vec![0; 12];
    data.extend([8, 0, 0x45, 0]);
    data.extend((28 + sip.len() as u16).to_be_bytes());
    data.extend([0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0x13, 0xc4, 0x13, 0xc4]);
    data.extend((8 + sip.len() as u16).to_be_bytes());
    data.extend([0, 0]);
    data.extend(sip.as_bytes());
    let link = ringtap_model::LinkType(1);
    let mut writer = ringtap_capture::Writer::new(Vec::new(), &[link]).unwrap();
    let time = ringtap_testing::samples::START;
    writer.write(&Frame { time, number: 1, link, wire_len: data.len() as u32, data: &data }).unwrap();
    Capture::from_bytes("hostile", writer.finish().unwrap()).unwrap()
}

fn harmless(app: &mut App, width: u16, height: u16) {
    for cell in buffer(app, width, height).content() {
        assert!(!cell.symbol().chars().any(text::hostile), "{:?}", cell.symbol());
    }
}

#[test]
fn hostile_text_is_shown_safely() {
    let (view, _) = after(hostile("\u{1b}]0;x\u{7}\u{202e}日本\u{9b}2J"), Some(1), LIMITS);
    assert_eq!(view.entries.len(), 1);
    let mut app = App::new(Arc::new(View::empty("\u{1b}[2J".into(), LIMITS)));
    app.update(Arc::new(view));
    for keys in
        [&[][..], &[KeyCode::Enter], &[KeyCode::Enter], &[KeyCode::F(2)], &[KeyCode::Esc, KeyCode::F(9)]]
    {
        press(&mut app, keys);
        harmless(&mut app, 80, 24);
        harmless(&mut app, 200, 50);
    }
    let mut app = demo(None);
    press(&mut app, &[KeyCode::Char('/')]);
    write(&mut app, "\u{202e}\u{9b}");
    harmless(&mut app, 80, 24);
}

fn any_key() -> impl Strategy<Value = KeyCode> {
    prop_oneof![
        prop::sample::select("abcfghijklmprstxzAGM<>/ ?09".chars().collect::<Vec<_>>())
            .prop_map(KeyCode::Char),
        (1_u8..10).prop_map(KeyCode::F),
        Just(KeyCode::Enter),
        Just(KeyCode::Esc),
        Just(KeyCode::Tab),
        Just(KeyCode::BackTab),
        Just(KeyCode::Up),
        Just(KeyCode::Down),
        Just(KeyCode::Left),
        Just(KeyCode::Right),
        Just(KeyCode::PageUp),
        Just(KeyCode::PageDown),
        Just(KeyCode::Home),
        Just(KeyCode::End),
        Just(KeyCode::Backspace),
        Just(KeyCode::Delete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_keys_on_any_terminal(keys in prop::collection::vec((any_key(), 1_u16..220, 1_u16..60), 1..40)) {
        thread_local! {
            static VIEWS: [Arc<View>; 2] = [Some(4_600), None]
                .map(|frames| Arc::new(after(capture("demo/calls.pcap"), frames, LIMITS).0));
        }
        VIEWS.with(|views| {
            let mut app = App::new(Arc::clone(&views[0]));
            for (index, (key, width, height)) in keys.into_iter().enumerate() {
                app.update(Arc::clone(&views[index % 2]));
                let _ = handle(&mut app, KeyEvent::from(key));
                harmless(&mut app, width, height);
                let _ = app.watched();
            }
        });
    }
}
