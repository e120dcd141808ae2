//! Reproducible pseudo-random numbers: the same seed gives the same numbers everywhere and forever.

/// A sequence of numbers (SplitMix64: its only state is a counter, so the seed determines everything).
pub struct Chance {
    counter: u64,
}

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    fn next(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.counter;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// An index into a collection of `length` elements, which must not be 0.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("an index below a length fits")
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.index(among.len())]
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }
}
