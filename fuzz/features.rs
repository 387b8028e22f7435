//! Empty: where a command builds an example, Cargo gives the dependencies the features that they
//! have in the tests. `scripts/fuzz minute` then compiles none of them again.
