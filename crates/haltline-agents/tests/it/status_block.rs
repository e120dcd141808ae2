//! Status blocks as agents write them (`testdata/status_blocks.txt`).

mod phase;
mod reading;

use std::fs;
use std::path::Path;

use haltline_agents::status_block::last_block;

#[test]
fn every_case_reads_as_the_table_says() {
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/status_blocks.txt");
    let table = fs::read_to_string(table).expect("the table is there");
    let mut count = 0;
    for case in table.split("\n=== ").skip(1) {
        let (title, rest) = case.split_once('\n').expect("a title");
        let (text, expected) = rest.split_once("-> reads as\n").expect("an expectation");
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let read = last_block(&text).map_or_else(|| "nothing".to_owned(), |block| block.to_string());
            assert_eq!(read.trim_end(), expected.trim_end(), "{title}");
        }
        count += 1;
    }
    assert!(count > 10, "{count} cases");
}
