//! Parts of a set of runs, for as many machines.

use std::env;
use std::fmt;
use std::str::FromStr;

/// One of several equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Index of the shard, from 1.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

/// Environment variables in which clusters pass a job its number, with the variable or the number
/// of the first job.
const CLUSTERS: [(&str, &str, usize); 2] = [
    // Slurm counts as the array says, which tells where it begins.
    ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", 1),
    // A Kubernetes indexed Job counts from 0.
    ("JOB_COMPLETION_INDEX", "", 0),
];

impl Shard {
    /// Returns true if the run with this number, from 0, belongs to the shard.
    pub(super) fn has(self, number: usize) -> bool {
        number % self.of == self.index - 1
    }

    fn read(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let expected = || {
            format!(
                "`{text}` is not understood; expected a shard, such as 3/10, counted from 1, or \
                 env/10 for the number that Slurm or Kubernetes give the job"
            )
        };
        let (index, of) = text.split_once('/').ok_or_else(expected)?;
        let of: usize = of.parse().map_err(|_| expected())?;
        let index = match index {
            "env" => from_cluster(variable)?,
            index => index.parse().map_err(|_| expected())?,
        };
        if (1..=of).contains(&index) {
            Ok(Shard { index, of })
        } else {
            Err(format!(
                "shard: no such number (got {index} of {of}); expected 1 to {of}"
            ))
        }
    }
}

/// The job's number, from 1 on.
fn from_cluster(variable: impl Fn(&str) -> Option<String>) -> Result<usize, String> {
    let whole = |name: &str, text: String| {
        let number = text.parse::<usize>();
        number.map_err(|_| format!("{name} is `{text}`, no whole number"))
    };
    for (name, first, least) in CLUSTERS {
        let Some(text) = variable(name) else {
            continue;
        };
        let least = variable(first).map_or(Ok(least), |text| whole(first, text))?;
        let index = whole(name, text)?.checked_sub(least);
        return index
            .map(|index| index + 1)
            .ok_or_else(|| format!("{name} is before {first}"));
    }
    let names = CLUSTERS.map(|(name, _, _)| name).join(" nor ");
    Err(format!("neither {names} is set, of which env would be"))
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::read(text, |name| env::var(name).ok())
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard-{}-of-{}", self.index, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_so_many() {
        assert_eq!("3/10".parse(), Ok(Shard { index: 3, of: 10 }));
        for text in ["0/3", "4/3", "1/0"] {
            assert!(text.parse::<Shard>().unwrap_err().contains("expected 1 to"));
        }
        for text in ["3", "a/3", "3/", "-1/3"] {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains(text) && error.contains("3/10"), "{error}");
        }
    }

    #[test]
    fn a_cluster_tells_the_number() {
        let of = |variables: &'static [(&str, &str)]| {
            let find = |name: &str| variables.iter().find(|(other, _)| *other == name);
            Shard::read("env/4", |name| {
                find(name).map(|(_, text)| (*text).to_owned())
            })
        };
        let third = Ok(Shard { index: 3, of: 4 });
        assert_eq!(of(&[("SLURM_ARRAY_TASK_ID", "3")]), third);
        let from_0 = of(&[("SLURM_ARRAY_TASK_ID", "2"), ("SLURM_ARRAY_TASK_MIN", "0")]);
        assert_eq!(from_0, third);
        assert_eq!(of(&[("JOB_COMPLETION_INDEX", "2")]), third);
        assert!(of(&[("JOB_COMPLETION_INDEX", "4")]).is_err());
        assert!(of(&[]).unwrap_err().contains("SLURM_ARRAY_TASK_ID"));
    }

    #[test]
    fn shards_are_all_and_each_run_is_in_one() {
        let shards = [1, 2, 3].map(|index| Shard { index, of: 3 });
        for number in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(number)).count(), 1);
        }
    }
}
