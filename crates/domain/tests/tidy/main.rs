//! Rules of the repository, checked by tests: dependencies, sizes, and names in documents that must exist. Each rule is a function over a
//! [`Tree`]; here each is run on this repository, and its own file shows that it can fail.

mod circles;
mod codes;
mod dependencies;
mod imports;
mod invariants;
mod items;
mod leftovers;
mod manifests;
mod modules;
mod paths;
mod rust;
mod sizes;
mod statements;
mod tree;

use tree::{Finding, Tree};

#[test]
fn every_statement_is_declared() {
    hold(statements::undeclared_statements);
}

#[test]
fn crates_depend_one_way() {
    hold(manifests::arrows_between_crates);
}

#[test]
fn domain_and_wire_stay_light() {
    hold(manifests::heavy_dependencies);
}

#[test]
fn every_dependency_is_named() {
    hold(dependencies::unused_dependencies);
}

#[test]
fn modules_name_each_other_in_no_circle() {
    hold(circles::circles_between_modules);
}

#[test]
fn codes_of_faults_have_names() {
    hold(codes::bare_codes);
}

#[test]
fn every_source_file_belongs_to_a_module() {
    hold(modules::undeclared_files);
}

#[test]
fn files_stay_small() {
    hold(sizes::long_files);
}

#[test]
fn functions_stay_small() {
    hold(sizes::long_functions);
}

#[test]
fn documents_name_paths_that_exist() {
    hold(paths::missing_paths);
}

#[test]
fn every_invariant_names_tests_that_exist() {
    hold(invariants::unshown_invariants);
}

#[test]
fn nothing_is_left_to_do() {
    hold(leftovers::unfinished_code);
}

#[test]
fn no_word_of_the_workshop_is_told() {
    hold(leftovers::workshop_words);
}

fn hold(rule: fn(&Tree) -> Vec<Finding>) {
    let findings = rule(Tree::of_this_repository());
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}
