import {
  Box,
  Button,
  Checkbox,
  Group,
  NativeSelect,
  Paper,
  Skeleton,
  Stack,
  Table,
  Text,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { IconChevronDown, IconChevronUp, IconFilterOff, IconSelector } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { memo, type ReactNode, useDeferredValue, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { formatSort, parseSort, type Sort } from '../../contract/responses.ts';
import { ADMIN_PAGE_SIZE, type ListResponse } from '../data/admin.ts';
import { readOrganization } from '../data/browser-storage.ts';
import { formatCount } from '../data/format-values.ts';
import { QueryError } from './error-alert.tsx';
import { nextSort, sortRows } from './list/sort-rows.ts';
import type { ListFilters } from './list/use-list-filters.ts';
import { EmptyState } from './page.tsx';
import { Pager } from './pager.tsx';

/** One column of a table: its label and the content of its cells. */
export interface Column<Row> {
  readonly label: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'right';
  /** Hides the label visually but keeps it for screen readers; for columns whose cells need no visible label. */
  readonly hideLabel?: boolean;
  /** Makes the column sortable; the URL stores the sort under this name. */
  readonly sortKey?: string;
  readonly sortValue?: (row: Row) => string | number | null;
  /** Hidden on phones; the row's detail page shows the value. */
  readonly hideOnPhone?: boolean;
}

/** Column with the member who created a row, while the console works for an organization; none for the own account. */
export function useMemberColumn<Row>(memberOf: (row: Row) => string | undefined): readonly Column<Row>[] {
  const { t } = useTranslation();
  return readOrganization() === undefined ? [] : [{ label: t('member'), cell: (row) => memberOf(row) || '–' }];
}

interface DataTableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined while the rows are loading. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row) => string | number;
  readonly stale?: boolean;
  readonly sort?: Sort;
  /** Called with the new sort; undefined restores the original order. Without this callback no column is sortable. */
  readonly onSort?: (sort: Sort | undefined) => void;
  /** Makes rows selectable. */
  readonly selection?: RowSelection<Row>;
}

const SKELETON_ROWS = 8;
/** Rows rendered at first, and by each request for more: thousands of rows would freeze the page for seconds. */
const ROWS_AT_A_TIME = 50;

/**
 * A table; on phones each row becomes a card with its first column as the heading. Rows render after the header, so that
 * a click on a long list is answered at once. Exceptions: the first rows, because the content below the table would shift
 * twice, and rows with checkboxes, which would flicker.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const narrow = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false });
  const { t } = useTranslation('app');
  const [limit, setLimit] = useState(ROWS_AT_A_TIME);
  const { stale = false, rows, columns, sort } = props;
  const wanted: ShownRows<Row> = { ...props, limit };
  const later = useDeferredValue(wanted);
  const shown = props.selection === undefined && later.rows !== undefined ? later : wanted;
  return (
    <Box aria-busy={stale} style={{ opacity: stale ? 0.6 : 1, transition: 'opacity 120ms' }}>
      {narrow === true && props.onSort !== undefined ? (
        <SortSelect columns={columns} sort={sort} onSort={props.onSort} />
      ) : null}
      {narrow === true ? <RowCards shown={shown} /> : <RowsTable {...wanted} shown={shown} />}
      {rows === undefined || rows.length <= limit ? null : (
        <Button variant="default" mt="sm" onClick={() => setLimit(limit + ROWS_AT_A_TIME)}>
          {t('more')}
        </Button>
      )}
    </Box>
  );
}

interface ShownRows<Row> extends DataTableProps<Row> {
  readonly limit: number;
}

/** The first rows in the order of the table. */
const firstRows = <Row,>({ rows, columns, sort, limit }: ShownRows<Row>): readonly Row[] | undefined =>
  rows && sortRows(rows, columns, sort).slice(0, limit);

function RowsTable<Row>({ shown, ...wanted }: ShownRows<Row> & { readonly shown: ShownRows<Row> }) {
  const { label, columns, rowKey, sort, onSort, selection } = wanted;
  return (
    <Table.ScrollContainer
      minWidth={Math.min(960, columns.length * 100)}
      scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': label, role: 'region' } }}
    >
      <Table aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {selection === undefined ? null : (
              <Table.Th w={36}>
                <SelectAll rows={firstRows(wanted) ?? []} keyOf={rowKey} selection={selection} />
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
        <TableRows shown={shown} />
      </Table>
    </Table.ScrollContainer>
  );
}

/** Body of the table; plain elements, because a sort renders hundreds of cells. */
const TableRows = memo(function TableRows<Row>({ shown }: { readonly shown: ShownRows<Row> }) {
  const { columns, rowKey, selection } = shown;
  const headId = useId();
  return (
    <tbody className="data-rows">
      {firstRows(shown)?.map((row) => (
        <tr key={rowKey(row)}>
          {selection === undefined ? null : (
            <td>
              <SelectRow row={row} rowKey={rowKey(row)} selection={selection} headId={`${headId}${rowKey(row)}`} />
            </td>
          )}
          {columns.map((column, index) => (
            <td
              key={column.label}
              id={index === 0 && selection !== undefined ? `${headId}${rowKey(row)}` : undefined}
              data-align={column.align}
            >
              {column.cell(row)}
            </td>
          ))}
        </tr>
      )) ??
        Array.from({ length: SKELETON_ROWS }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows that are only a shape have no other name
          <tr key={row}>
            {selection === undefined ? null : <td />}
            {columns.map((column) => (
              <td key={column.label}>
                <Skeleton h={20} w="70%" />
              </td>
            ))}
          </tr>
        ))}
    </tbody>
  );
}) as <Row>(props: { readonly shown: ShownRows<Row> }) => ReactNode;

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

const RowCards = memo(function RowCards<Row>({ shown }: { readonly shown: ShownRows<Row> }) {
  const { label, columns, rowKey, selection } = shown;
  const headId = useId();
  const rows = firstRows(shown);
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
            {selection === undefined ? null : (
              <SelectRow row={row} rowKey={rowKey(row)} selection={selection} headId={`${headId}${rowKey(row)}`} />
            )}
            <Box flex={1} miw={0} id={`${headId}${rowKey(row)}`}>
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
}) as <Row>(props: { readonly shown: ShownRows<Row> }) => ReactNode;

interface SelectRowProps<Row> {
  readonly row: Row;
  readonly rowKey: RowKey;
  readonly selection: RowSelection<Row>;
  /** Id of the cell that names the row. */
  readonly headId: string;
}

/** Checkbox that selects one row, named by the verb and the first cell. */
function SelectRow<Row>({ row, rowKey, selection, headId }: SelectRowProps<Row>) {
  const { t } = useTranslation('list');
  const id = useId();
  return (
    <Checkbox
      size="xs"
      id={id}
      aria-label={t('selectRow')}
      aria-labelledby={`${id} ${headId}`}
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

/** Checkbox that selects or deselects all rows of the page. */
function SelectAll<Row>({ rows, keyOf, selection }: SelectAllProps<Row>) {
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

interface SortSelectProps {
  readonly columns: readonly { readonly label: string; readonly sortKey?: string }[];
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
}

/** Sort control for the card layout, which has no column headers to click; renders nothing if no column is sortable. */
function SortSelect({ columns, sort, onSort }: SortSelectProps) {
  const { t } = useTranslation('list');
  const orders = columns.flatMap(({ label: column, sortKey }) =>
    sortKey === undefined
      ? []
      : [
          { value: `-${sortKey}`, label: t('descending', { column }) },
          { value: sortKey, label: t('ascending', { column }) },
        ],
  );
  if (orders.length === 0) return null;
  return (
    <NativeSelect
      mb="xs"
      aria-label={t('sortBy')}
      value={sort === undefined ? '' : formatSort(sort)}
      onChange={({ currentTarget: { value } }) => onSort(parseSort(value))}
      data={[{ value: '', label: t('defaultOrder') }, ...orders]}
    />
  );
}

type RowKey = string | number;

/** Rows selected for a bulk action, including rows on other pages. */
export interface RowSelection<Row> {
  readonly rows: readonly Row[];
  has(key: RowKey): boolean;
  /** Whether the row can be selected. */
  allows(row: Row): boolean;
  toggle(row: Row): void;
  /** Selects or deselects the given rows. */
  set(rows: readonly Row[], chosen: boolean): void;
  clear(): void;
}

/** @param allows rows the viewer may change; default: every row */
export function useRowSelection<Row>(
  keyOf: (row: Row) => RowKey,
  allows: (row: Row) => boolean = () => true,
): RowSelection<Row> {
  const [chosen, setChosen] = useState<ReadonlyMap<RowKey, Row>>(new Map());
  const set = (rows: readonly Row[], isChosen: boolean): void =>
    setChosen((before) => {
      const after = new Map(before);
      for (const row of rows.filter(allows)) {
        if (isChosen) after.set(keyOf(row), row);
        else after.delete(keyOf(row));
      }
      return after;
    });
  return {
    rows: [...chosen.values()],
    has: (key) => chosen.has(key),
    allows,
    toggle: (row) => set([row], !chosen.has(keyOf(row))),
    set,
    clear: () => setChosen(new Map()),
  };
}

interface PagedTableProps<Row> {
  readonly label: string;
  readonly query: UseQueryResult<ListResponse<Row>>;
  readonly filters: ListFilters;
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string | number;
  /** Shown if the list is empty without any filter. */
  readonly emptyState: ReactNode;
  /** Makes rows selectable. */
  readonly selection?: RowSelection<Row>;
}

/** Whether a list is empty without any filter; {@link PagedTable} then shows its empty state. */
export const isListEmpty = (
  { data, isPlaceholderData }: UseQueryResult<ListResponse<unknown>>,
  filters: ListFilters,
): boolean => data?.total === 0 && !filters.active && !isPlaceholderData;

/** One page of a list in each of its states: loading, failed, empty, without a match for the filters, or filled. */
export function PagedTable<Row>(props: PagedTableProps<Row>) {
  const { label, query, filters, columns, rowKey, emptyState, selection } = props;
  const { t } = useTranslation('list');
  const { data, error, isPlaceholderData } = query;
  if (error !== null && data === undefined) {
    return (
      <>
        <QueryError query={query} />
        {filters.active ? <ClearFilters filters={filters} /> : null}
      </>
    );
  }
  if (isListEmpty(query, filters)) return emptyState;
  if (data?.total === 0 && !isPlaceholderData) {
    return (
      <EmptyState icon={<IconFilterOff size={28} />} title={t('noMatch')} action={<ClearFilters filters={filters} />}>
        {t('noMatchText')}
      </EmptyState>
    );
  }
  return (
    <>
      <QueryError query={query} />
      <DataTable
        label={label}
        columns={columns}
        rows={data?.data}
        rowKey={rowKey}
        stale={isPlaceholderData}
        sort={filters.sort}
        onSort={filters.setSort}
        selection={selection}
      />
      {data === undefined ? null : (
        <Text size="xs" c="dimmed" mt="xs" role="status">
          {data.total_is_minimum === true
            ? t('totalIsMinimum', { total: formatCount(data.total) })
            : t('total', { count: data.total })}
        </Text>
      )}
      <Pager
        page={filters.page}
        total={data?.total ?? 0}
        pageSize={ADMIN_PAGE_SIZE}
        next={data?.next}
        onChange={filters.setPage}
      />
    </>
  );
}

function ClearFilters({ filters }: { readonly filters: ListFilters }) {
  const { t } = useTranslation('list');
  return (
    <Button variant="default" mt="sm" onClick={filters.clear}>
      {t('clear')}
    </Button>
  );
}
