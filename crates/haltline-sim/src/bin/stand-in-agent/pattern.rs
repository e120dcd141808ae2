//! The bytes of `print`: each place has its own, so that a lost, doubled or moved byte shows. Included by the tests.

/// The byte at a place of the output.
pub fn byte_at(place: u64) -> u8 {
    // Lines of 64 bytes that begin with different letters, so that the text stays readable.
    if place % 64 == 63 {
        return b'\n';
    }
    let mixed = (place / 64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ place;
    b'!' + u8::try_from(mixed % 90).unwrap_or(0)
}

/// The bytes from a place on.
pub fn bytes(from: u64, length: usize) -> Vec<u8> {
    (from..).take(length).map(byte_at).collect()
}
