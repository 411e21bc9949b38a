import { Box, Group, Paper, Skeleton, Stack, Table, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconChevronDown, IconChevronUp, IconSelector } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Sort } from '../../contract/responses.ts';
import { nextSort, sortRows } from './list/next-sort-and-sort-rows.ts';
import { SelectAll, SelectRow } from './list/selection-checkboxes.tsx';
import { SortSelect } from './list/sort-select.tsx';
import type { RowSelection } from './list/use-row-selection.ts';

export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'right';
  /** Hides the label visually but keeps it for screen readers; for columns whose cells need no visible label. */
  readonly hideLabel?: boolean;
  /** Lets the table be sorted by this column, under this name in the address. */
  readonly sortKey?: string;
  readonly sortValue?: (row: Row) => string | number | null;
  /** Omitted on a phone; the detail page of the row shows the value. */
  readonly hideOnPhone?: boolean;
}

interface DataTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined while they are fetched. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row) => string | number;
  readonly stale?: boolean;
  readonly sort?: Sort | undefined;
  /** Called with what to sort by; undefined: as the rows come. Without it no column can be sorted by. */
  readonly onSort?: (sort: Sort | undefined) => void;
  /** Lets rows be chosen. */
  readonly selection?: RowSelection<Row> | undefined;
}

const SKELETON_ROWS = 8;

/** A table; on a phone each row is a card with its first column as the heading. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const narrow = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false });
  const { stale = false, rows, columns, sort } = props;
  const sorted = { ...props, rows: rows && sortRows(rows, columns, sort) };
  return (
    <Box aria-busy={stale} style={{ opacity: stale ? 0.6 : 1, transition: 'opacity 120ms' }}>
      {narrow === true && props.onSort !== undefined ? (
        <SortSelect columns={columns} sort={sort} onSort={props.onSort} />
      ) : null}
      {narrow === true ? <RowCards {...sorted} /> : <RowsTable {...sorted} />}
    </Box>
  );
}

function RowsTable<Row>({ label, columns, rows, rowKey, sort, onSort, selection }: DataTableProps<Row>) {
  return (
    <Table.ScrollContainer
      minWidth={Math.min(960, columns.length * 100)}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': label, role: 'region' } }}
    >
      <Table highlightOnHover aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {selection === undefined ? null : (
              <Table.Th w={36}>
                <SelectAll rows={rows ?? []} keyOf={rowKey} selection={selection} />
              </Table.Th>
            )}
            {columns.map((column) => (
              <Table.Th
                key={column.label}
                ta={column.align ?? 'left'}
                style={{ whiteSpace: 'nowrap' }}
                aria-sort={
                  sort !== undefined && column.sortKey === sort.key
                    ? sort.descending
                      ? 'descending'
                      : 'ascending'
                    : undefined
                }
              >
                {onSort === undefined || column.sortKey === undefined ? (
                  <ColumnLabel column={column} />
                ) : (
                  <SortButton label={column.label} name={column.sortKey} sort={sort} onSort={onSort} />
                )}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows === undefined
            ? Array.from({ length: SKELETON_ROWS }, (_, row) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows that are only a shape have no other name
                <Table.Tr key={row}>
                  {selection === undefined ? null : <Table.Td />}
                  {columns.map((column) => (
                    <Table.Td key={column.label}>
                      <Skeleton h={20} w="70%" />
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))
            : rows.map((row) => (
                <Table.Tr key={rowKey(row)}>
                  {selection === undefined ? null : (
                    <Table.Td>
                      <SelectRow row={row} rowKey={rowKey(row)} selection={selection} />
                    </Table.Td>
                  )}
                  {columns.map((column) => (
                    <Table.Td
                      key={column.label}
                      ta={column.align ?? 'left'}
                      style={column.align === 'right' ? { whiteSpace: 'nowrap' } : {}}
                    >
                      {column.cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

interface SortButtonProps {
  readonly label: string;
  readonly name: string;
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
}

function SortButton({ label, name, sort, onSort }: SortButtonProps) {
  const Icon = sort?.key !== name ? IconSelector : sort.descending ? IconChevronDown : IconChevronUp;
  return (
    <UnstyledButton fz="sm" fw="inherit" c="inherit" onClick={() => onSort(nextSort(sort, name))}>
      {label}
      <Icon size={14} style={{ verticalAlign: 'middle', marginInlineStart: 2 }} aria-hidden />
    </UnstyledButton>
  );
}

const ColumnLabel = ({
  column: { label, hideLabel },
}: {
  readonly column: Pick<Column<never>, 'label' | 'hideLabel'>;
}) => (hideLabel === true ? <VisuallyHidden>{label}</VisuallyHidden> : label);

function RowCards<Row>({ label, columns, rows, rowKey, selection }: DataTableProps<Row>) {
  const [head, ...rest] = columns;
  if (rows === undefined || head === undefined) {
    return (
      <Stack gap="xs">
        {Array.from({ length: 4 }, (_, card) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: cards that are only a shape have no other name
          <Skeleton key={card} h={110} radius="lg" />
        ))}
      </Stack>
    );
  }
  return (
    <Stack gap="xs" component="ul" aria-label={label} m={0} p={0} style={{ listStyle: 'none' }}>
      {rows.map((row) => (
        <Paper key={rowKey(row)} withBorder p="sm" component="li">
          <Group mb={6} wrap="nowrap" align="flex-start" gap="sm">
            {selection === undefined ? null : <SelectRow row={row} rowKey={rowKey(row)} selection={selection} />}
            <Box flex={1} miw={0}>
              {head.cell(row)}
            </Box>
          </Group>
          {rest
            .filter(({ hideOnPhone }) => hideOnPhone !== true)
            .map((column) => (
              <Group key={column.label} justify="space-between" wrap="nowrap" gap="md" py={2} align="flex-start">
                <Text size="xs" c="dimmed" style={{ flexShrink: 0 }}>
                  <ColumnLabel column={column} />
                </Text>
                <Text size="sm" component="div" ta="right" miw={0} style={{ overflowWrap: 'anywhere' }}>
                  {column.cell(row)}
                </Text>
              </Group>
            ))}
        </Paper>
      ))}
    </Stack>
  );
}
