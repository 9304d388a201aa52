//! Tests of the crate from outside, as one program: one for each file would take twice as long to compile.

mod common;

mod applications;
mod behaviour_delay_and_marks;
mod behaviour_loss_based;
mod behaviour_model_based;
mod behaviour_queues;
mod behaviour_research;
mod mangled;
mod memory;
mod networks;
mod paths;
mod physics;
mod properties;
mod queues;
mod scripts;
mod tables;

use std::fs;
use std::path::Path;

/// A file that is not declared above would be left out without a word.
#[test]
fn every_file_beside_this_one_is_part_of_the_program() {
    let declared = include_str!("main.rs");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in fs::read_dir(folder).expect("the folder of this file can be read") {
        let path = entry.expect("its entries can be read").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("our names are UTF-8");
        if path.extension().is_some_and(|extension| extension == "rs") && name != "main" {
            assert!(declared.contains(&format!("\nmod {name};\n")), "main.rs lacks `mod {name};`");
        }
    }
}
