// bpe-openai-bench FAMILY A B [IDS]: passes over the documents of two files, as bench/tokenizer_peers.py
// does: A, B, B again, with one call a document. Prints seconds and tokens; writes the ids to IDS.

use std::io::Write;

/// Seconds that this process has had a processor: a busy machine does not count.
fn processor_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) }, 0);
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

fn documents(path: &str) -> Vec<String> {
    let bytes = std::fs::read(path).expect("a file of documents");
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let n = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        found.push(String::from_utf8(bytes[at + 4..at + 4 + n].to_vec()).expect("UTF-8"));
        at += 4 + n;
    }
    found
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let tokenizer = match words[1].as_str() {
        "cl100k" => bpe_openai::cl100k_base(),
        "o200k" => bpe_openai::o200k_base(),
        other => panic!("bpe-openai has no {other}"),
    };
    let texts = [documents(&words[2]), documents(&words[3])];
    let (mut seconds, mut tokens) = (Vec::new(), 0);
    let mut out = words.get(4).map(|path| std::io::BufWriter::new(std::fs::File::create(path).unwrap()));
    for (pass, text) in [(0, &texts[0]), (1, &texts[1]), (2, &texts[1])] {
        let mut spent = 0.0;
        for document in text {
            let begun = processor_seconds();
            let ids = tokenizer.encode(document.as_str());
            spent += processor_seconds() - begun;
            tokens += ids.len();
            if let (Some(out), true) = (out.as_mut(), pass < 2) {
                for id in ids {
                    out.write_all(&id.to_le_bytes()).unwrap();
                }
            }
        }
        seconds.push(spent);
    }
    println!("cold={} steady={} warm={} tokens={}", seconds[0], seconds[1], seconds[2], tokens);
}
