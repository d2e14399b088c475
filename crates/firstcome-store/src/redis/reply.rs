//! Answers of a server.

use redis::Value;

use crate::error::StoreError;

/// What a store answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisReply {
    /// Nothing.
    Nil,
    /// A number.
    Number(i64),
    /// Bytes; a status such as `OK` comes as bytes, too.
    Bytes(Vec<u8>),
    /// Several answers.
    List(Vec<RedisReply>),
}

impl RedisReply {
    pub(crate) fn from_value(value: Value) -> Result<Self, StoreError> {
        Ok(match value {
            Value::Nil => Self::Nil,
            Value::Int(number) => Self::Number(number),
            Value::Boolean(yes) => Self::Number(i64::from(yes)),
            Value::BulkString(bytes) => Self::Bytes(bytes),
            Value::SimpleString(text) => Self::Bytes(text.into_bytes()),
            Value::Okay => Self::Bytes(b"OK".to_vec()),
            Value::Array(list) | Value::Set(list) => {
                Self::List(list.into_iter().map(Self::from_value).collect::<Result<_, _>>()?)
            }
            // RESP2 is spoken, which has nothing else.
            other @ (Value::Map(_)
            | Value::Attribute { .. }
            | Value::Double(_)
            | Value::VerbatimString { .. }
            | Value::BigNumber(_)
            | Value::Push { .. }
            | Value::ServerError(_)
            | _) => return Err(StoreError::Unexpected { detail: format!("{other:?}") }),
        })
    }

    /// Returns the answer as a number, whether it came as one or as its digits.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unexpected`] where it is something else.
    pub fn number(&self) -> Result<i64, StoreError> {
        let read = match self {
            Self::Number(number) => Some(*number),
            Self::Bytes(bytes) => {
                std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok())
            }
            Self::Nil | Self::List(_) => None,
        };
        read.ok_or_else(|| self.unexpected("a number"))
    }

    /// Returns the answer as a list of numbers.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unexpected`] where it is something else.
    pub fn numbers(&self) -> Result<Vec<i64>, StoreError> {
        self.list()?.iter().map(Self::number).collect()
    }

    /// Returns the answer as a list.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unexpected`] where it is something else.
    pub fn list(&self) -> Result<&[RedisReply], StoreError> {
        match self {
            Self::List(list) => Ok(list),
            Self::Nil | Self::Number(_) | Self::Bytes(_) => Err(self.unexpected("a list")),
        }
    }

    /// Returns the answer as text; bytes that are no UTF-8 are replaced.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unexpected`] where it is a list or nothing.
    pub fn text(&self) -> Result<String, StoreError> {
        match self {
            Self::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            Self::Number(number) => Ok(number.to_string()),
            Self::Nil | Self::List(_) => Err(self.unexpected("text")),
        }
    }

    fn unexpected(&self, wanted: &str) -> StoreError {
        StoreError::Unexpected { detail: format!("{self:?} instead of {wanted}") }
    }
}
