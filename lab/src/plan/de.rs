//! A tree as what serde reads from. An error gets the place and the path of
//! the innermost value that it came from.

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::diagnostic::Diagnostic;
use super::tree::{Entry, Node, Value};

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Diagnostic;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Diagnostic> {
        let value = match &self.value {
            Value::Text(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(value) => visitor.visit_bool(*value),
            Value::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Value::Table(table) => visitor.visit_map(Entries {
                entries: &table.entries,
                value: None,
            }),
        };
        value.map_err(|fault: Diagnostic| fault.or_at(self.place))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Diagnostic> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Diagnostic> {
        visitor.visit_newtype_struct(self)
    }

    /// A variant is a text, or a table of the variant and what it has.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Diagnostic> {
        let value = match &self.value {
            Value::Text(text) => {
                let text: StrDeserializer<Diagnostic> = text.as_str().into_deserializer();
                visitor.visit_enum(text)
            }
            Value::Table(table) => visitor.visit_enum(MapAccessDeserializer::new(Entries {
                entries: &table.entries,
                value: None,
            })),
            _ => Err(self.unexpected("a text in quotes")),
        };
        value.map_err(|fault: Diagnostic| fault.or_at(self.place))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes
        byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

struct Items<'de> {
    items: &'de [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Diagnostic;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Diagnostic> {
        let Some(item) = self.items.get(self.next) else {
            return Ok(None);
        };
        let value = seed.deserialize(item);
        // What is made of a text that was read says nothing of its place.
        let value = value
            .map_err(|fault: Diagnostic| fault.or_at(item.place).within(&self.next.to_string()))?;
        self.next += 1;
        Ok(Some(value))
    }
}

struct Entries<'de> {
    entries: &'de [Entry],
    /// The entry whose key was read last.
    value: Option<&'de Entry>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Diagnostic;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Diagnostic> {
        let Some((entry, rest)) = self.entries.split_first() else {
            return Ok(None);
        };
        self.entries = rest;
        self.value = Some(entry);
        let key: StrDeserializer<Diagnostic> = entry.key.as_str().into_deserializer();
        let key = seed.deserialize(key);
        Ok(Some(key.map_err(|fault| fault.or_at(entry.key_place))?))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Diagnostic> {
        let entry = self.value.take().expect("a key comes before its value");
        let value = seed.deserialize(&entry.node);
        value.map_err(|fault: Diagnostic| fault.or_at(entry.node.place).within(&entry.key))
    }
}
