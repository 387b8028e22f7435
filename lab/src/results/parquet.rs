//! Rows as Apache Parquet: a required string or integer, or an optional
//! double, a column.

use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::row::{Cell, Row};

/// Writes the rows as one row group, under the heads that CSV has.
///
/// # Errors
///
/// What cannot be written.
pub fn write_parquet(rows: &[Row], out: &mut (dyn Write + Send)) -> Result<()> {
    let Some(first) = rows.first() else {
        return Ok(());
    };
    let fields = first.heads().into_iter().zip(first.cells());
    let fields = fields.map(|(head, cell)| Ok(Arc::new(field(&head, cell)?)));
    let schema = Type::group_type_builder("row")
        .with_fields(fields.collect::<Result<_>>()?)
        .build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(out, Arc::new(schema), properties)?;

    let cells: Vec<Vec<Cell>> = rows.iter().map(Row::cells).collect();
    let mut group = file.next_row_group()?;
    let mut place = 0;
    while let Some(mut column) = group.next_column()? {
        let cells = cells.iter().map(|row| row[place]);
        match first.cells()[place] {
            Cell::Text(_) => {
                let values: Vec<ByteArray> = cells.filter_map(text).collect();
                column
                    .typed::<ByteArrayType>()
                    .write_batch(&values, None, None)?;
            }
            Cell::Integer(_) => {
                let values: Vec<i64> = cells.filter_map(integer).collect();
                column
                    .typed::<Int64Type>()
                    .write_batch(&values, None, None)?;
            }
            Cell::Number(_) => {
                let numbers: Vec<Option<f64>> = cells.map(number).collect();
                // A definition level says whether there is a value.
                let levels: Vec<i16> = numbers.iter().map(|it| it.is_some().into()).collect();
                let values: Vec<f64> = numbers.into_iter().flatten().collect();
                column
                    .typed::<DoubleType>()
                    .write_batch(&values, Some(&levels), None)?;
            }
        }
        column.close()?;
        place += 1;
    }
    group.close()?;
    file.close()?;
    Ok(())
}

fn field(head: &str, cell: Cell) -> Result<Type> {
    let (physical, repetition, logical) = match cell {
        Cell::Text(_) => (
            Physical::BYTE_ARRAY,
            Repetition::REQUIRED,
            Some(LogicalType::String),
        ),
        Cell::Integer(_) => (Physical::INT64, Repetition::REQUIRED, None),
        Cell::Number(_) => (Physical::DOUBLE, Repetition::OPTIONAL, None),
    };
    Ok(Type::primitive_type_builder(head, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .build()?)
}

// All rows have the same kinds of cells, so that nothing is left out here.

fn text(cell: Cell) -> Option<ByteArray> {
    match cell {
        Cell::Text(text) => Some(ByteArray::from(text)),
        _ => None,
    }
}

fn integer(cell: Cell) -> Option<i64> {
    match cell {
        Cell::Integer(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

fn number(cell: Cell) -> Option<f64> {
    match cell {
        Cell::Number(number) => number,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::super::row::tests::row;
    use super::*;

    #[test]
    fn another_reader_finds_the_same_cells() {
        let rows = [row(true), row(false), row(true)];
        let mut file = tempfile::tempfile().unwrap();
        write_parquet(&rows, &mut file).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let read: Vec<_> = reader
            .get_row_iter(None)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(read.len(), rows.len());
        for (read, row) in read.iter().zip(&rows) {
            let columns = read.get_column_iter();
            for ((name, field), (head, cell)) in columns.zip(row.heads().iter().zip(row.cells())) {
                assert_eq!(name, head);
                match (field, cell) {
                    (Field::Str(read), Cell::Text(text)) => assert_eq!(read, text),
                    (Field::Long(read), Cell::Integer(number)) => assert_eq!(*read, number as i64),
                    (Field::Double(read), Cell::Number(number)) => assert_eq!(Some(*read), number),
                    (Field::Null, Cell::Number(number)) => assert_eq!(number, None),
                    other => panic!("{name}: {other:?}"),
                }
            }
        }
    }
}
