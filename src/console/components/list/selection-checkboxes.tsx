import { Checkbox } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { RowKey, RowSelection } from './use-row-selection.ts';

interface SelectRowProps<Row> {
  readonly row: Row;
  readonly rowKey: RowKey;
  readonly selection: RowSelection<Row>;
}

/** Chooses one row. */
export function SelectRow<Row>({ row, rowKey, selection }: SelectRowProps<Row>) {
  const { t } = useTranslation('list');
  return (
    <Checkbox
      size="xs"
      aria-label={t('selectRow', { name: rowKey })}
      checked={selection.has(rowKey)}
      disabled={!selection.allows(row)}
      onChange={() => selection.toggle(row)}
    />
  );
}

interface SelectAllProps<Row> {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => RowKey;
  readonly selection: RowSelection<Row>;
}

/** Chooses or leaves all rows of the page. */
export function SelectAll<Row>({ rows, keyOf, selection }: SelectAllProps<Row>) {
  const { t } = useTranslation('list');
  const allowed = rows.filter(selection.allows);
  const count = allowed.filter((row) => selection.has(keyOf(row))).length;
  const isAll = allowed.length > 0 && count === allowed.length;
  return (
    <Checkbox
      size="xs"
      aria-label={t('selectPage')}
      checked={isAll}
      indeterminate={count > 0 && !isAll}
      disabled={allowed.length === 0}
      onChange={() => selection.set(allowed, !isAll)}
    />
  );
}
