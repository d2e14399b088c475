use super::Settings;

pub struct Child(Settings);
