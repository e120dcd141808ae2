//! The bytes of `print`: each offset has its own, so that a lost, doubled or moved byte shows. Included by the tests.

/// The byte at an offset of the output.
pub fn byte_at(offset: u64) -> u8 {
    // Lines of 64 bytes that begin with different letters, so that the text stays readable.
    if offset % 64 == 63 {
        return b'\n';
    }
    let mixed = (offset / 64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17) ^ offset;
    b'!' + u8::try_from(mixed % 90).unwrap_or(0)
}

/// The bytes from an offset on.
pub fn bytes(from: u64, length: usize) -> Vec<u8> {
    (from..).take(length).map(byte_at).collect()
}
