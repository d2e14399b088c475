pub fn left() {
    crate::right::right();
}
