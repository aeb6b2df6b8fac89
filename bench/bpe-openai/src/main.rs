// bpe-openai-bench FAMILY A B [IDS]: passes over the documents of two files, as bench/tokenizer_peers.py
// does: A, B, B again, with one call a document. Prints seconds and tokens; writes the ids to IDS.

use std::io::Write;
use std::time::Instant;

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
            let begun = Instant::now();
            let ids = tokenizer.encode(document.as_str());
            spent += begun.elapsed().as_secs_f64();
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
