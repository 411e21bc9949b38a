import { Button, Group, NativeSelect, Stack, Switch, Table, Text, TextInput } from '@mantine/core';
import { IconPlayerPlay, IconRefresh } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { defined } from '../../../contract/objects.ts';
import { CreditAmount, useAmountUnit } from '../../components/credit-amount.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { AmountInput } from '../../components/limit-fields.tsx';
import { toModelOptions } from '../../components/model-name.tsx';
import { Panel } from '../../components/panel.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { checkSheet, type Sheet } from '../../data/batches.ts';
import { formatColon, formatNames } from '../../data/format-values.ts';
import { usableModelsQuery } from '../../data/self.ts';

interface SheetPanelProps {
  /** Of the file. */
  readonly name: string;
  readonly csv: string;
  readonly onClose: () => void;
}

/** Rows rendered at first, and by each request for more. */
const ROWS_AT_A_TIME = 50;

/** A sheet before it costs anything: errors of every cell, one quote, and the start. */
export function SheetPanel({ name, csv, onClose }: SheetPanelProps) {
  const { t } = useTranslation(['requests', 'app']);
  const [model, setModel] = useState('');
  const [budget, setBudget] = useState<number | string>('');
  const [edits, setEdits] = useState<Edits>(new Map());
  const models = useQuery(usableModelsQuery).data?.filter(({ kind }) => kind === 'video') ?? [];
  const { quotaPerCredit } = useAmountUnit();
  const navigate = useNavigate();
  const toasts = useToasts();
  const queries = useQueryClient();
  const [sheet, setSheet] = useState<Sheet>();
  const check = useMutation({
    mutationFn: (start: boolean) =>
      checkSheet(
        defined({
          csv: sheet === undefined ? csv : toCsv(sheet, edits),
          start,
          metadata: { name: name.slice(0, 512) },
          model: model === '' ? undefined : model,
          budget: typeof budget === 'number' ? Math.round(budget * quotaPerCredit) : undefined,
        }),
      ),
    onSuccess: (checked) => {
      setSheet(checked);
      setEdits(new Map());
      if (checked.batch === null) return;
      toasts.success(t('batches.started'));
      void queries.invalidateQueries({ queryKey: ['batches'] });
      void navigate({ to: '/batches/$batchId', params: { batchId: checked.batch.id } });
    },
  });
  const { mutate } = check;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another model has other prices
  useEffect(() => mutate(false), [model]);
  const isStale = edits.size > 0;
  return (
    <Panel title={t('batches.sheet')}>
      <Stack>
        <Text size="sm" c="dimmed">
          {t('batches.sheetLead')}
        </Text>
        <Group align="flex-start">
          <NativeSelect
            label={t('batches.model')}
            value={model}
            onChange={(event) => setModel(event.currentTarget.value)}
            data={[{ value: '', label: t('batches.ownModel') }, ...toModelOptions(models)]}
          />
          <AmountInput
            label={t('batches.budget')}
            description={t('batches.budgetHint')}
            value={budget}
            onChange={setBudget}
          />
        </Group>
        <ErrorAlert error={check.error} />
        {sheet === undefined ? null : (
          <>
            <SheetGrid sheet={sheet} edits={edits} onEdit={(key, text) => setEdits(new Map([...edits, [key, text]]))} />
            <SheetTotals sheet={sheet} />
          </>
        )}
        <SheetActions
          sheet={isStale ? undefined : sheet}
          count={sheet?.valid ?? 0}
          pending={check.isPending ? (check.variables === true ? 'start' : 'check') : undefined}
          onClose={onClose}
          onCheck={() => mutate(false)}
          onStart={() => mutate(true)}
        />
      </Stack>
    </Panel>
  );
}

interface SheetActionsProps {
  /** The checked sheet; undefined while it has changes. */
  readonly sheet: Sheet | undefined;
  readonly count: number;
  readonly pending: 'check' | 'start' | undefined;
  readonly onClose: () => void;
  readonly onCheck: () => void;
  readonly onStart: () => void;
}

function SheetActions({ sheet, count, pending, onClose, onCheck, onStart }: SheetActionsProps) {
  const { t } = useTranslation('requests');
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose}>
        {t('batches.discard')}
      </Button>
      <Button variant="default" leftSection={<IconRefresh size={16} />} loading={pending === 'check'} onClick={onCheck}>
        {t('batches.check')}
      </Button>
      <Button
        leftSection={<IconPlayerPlay size={16} />}
        disabled={sheet === undefined || sheet.invalid > 0 || sheet.valid === 0}
        loading={pending === 'start'}
        onClick={onStart}
      >
        {t('batches.start', { count })}
      </Button>
    </Group>
  );
}

/** Changed cells by `row:column`. */
type Edits = ReadonlyMap<string, string>;

/** The sheet with its changed cells, with every cell quoted (RFC 4180). */
function toCsv({ columns, rows }: Sheet, edits: Edits): string {
  const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const lines = rows.map(({ cells }, row) =>
    cells.map((cell, column) => quote(edits.get(`${row}:${column}`) ?? cell)).join(','),
  );
  return [columns.map(quote).join(','), ...lines].join('\n');
}

interface SheetGridProps {
  readonly sheet: Sheet;
  readonly edits: Edits;
  readonly onEdit: (key: string, text: string) => void;
}

function SheetGrid({ sheet, edits, onEdit }: SheetGridProps) {
  const { t } = useTranslation(['requests', 'app']);
  const [limit, setLimit] = useState(ROWS_AT_A_TIME);
  const [onlyInvalid, setOnlyInvalid] = useState(false);
  const rows = sheet.rows
    .map((row, index) => ({ row, index }))
    .filter(({ row }) => !onlyInvalid || row.errors.length > 0);
  return (
    <Stack gap="xs">
      {sheet.invalid === 0 ? null : (
        <Switch
          label={t('batches.onlyInvalid')}
          checked={onlyInvalid}
          onChange={(event) => setOnlyInvalid(event.currentTarget.checked)}
        />
      )}
      <Table.ScrollContainer
        minWidth={140 * (sheet.columns.length + 1)}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, 'aria-label': t('batches.sheet'), role: 'region' } }}
      >
        <Table aria-label={t('batches.sheet')} withColumnBorders>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('batches.row')}</Table.Th>
              {sheet.columns.map((column) => (
                <Table.Th key={column}>{column}</Table.Th>
              ))}
              <Table.Th ta="right">{t('batches.quote')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.slice(0, limit).map(({ row, index }) => (
              <SheetRow key={row.line} {...{ sheet, row, index, edits, onEdit }} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {rows.length <= limit ? null : (
        <Group>
          <Button variant="default" onClick={() => setLimit(limit + ROWS_AT_A_TIME)}>
            {t('app:more')}
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface SheetRowProps extends SheetGridProps {
  readonly row: Sheet['rows'][number];
  readonly index: number;
}

function SheetRow({ sheet, row, index, edits, onEdit }: SheetRowProps) {
  const { t } = useTranslation('requests');
  const ofRow = row.errors.filter(({ column }) => column === null);
  return (
    <Table.Tr>
      <Table.Td style={{ verticalAlign: 'top' }}>
        <Text size="sm" c="dimmed">
          {row.line}
        </Text>
        {ofRow.map(({ message }) => (
          <Text key={message} size="xs" className="error-text" role="alert">
            {message}
          </Text>
        ))}
        {row.dropped.length === 0 ? null : (
          <Text size="xs" c="dimmed">
            {t('batches.dropped', { columns: formatNames(row.dropped) })}
          </Text>
        )}
      </Table.Td>
      {sheet.columns.map((column, position) => {
        const key = `${index}:${position}`;
        const error = row.errors.find((each) => each.column === column)?.message;
        return (
          <Table.Td key={column} style={{ verticalAlign: 'top' }}>
            <TextInput
              size="xs"
              miw={column === 'prompt' ? 220 : 90}
              aria-label={formatNames([column, `${t('batches.row')} ${row.line}`])}
              value={edits.get(key) ?? row.cells[position] ?? ''}
              error={edits.has(key) ? undefined : error}
              onChange={(event) => onEdit(key, event.currentTarget.value)}
            />
          </Table.Td>
        );
      })}
      <Table.Td ta="right" style={{ verticalAlign: 'top' }}>
        {row.quota === null ? '–' : <CreditAmount value={row.quota} />}
      </Table.Td>
    </Table.Tr>
  );
}

function SheetTotals({ sheet }: { readonly sheet: Sheet }) {
  const { t } = useTranslation('requests');
  return (
    <Group justify="space-between" gap="md">
      <Text size="sm">
        {t('batches.valid', { count: sheet.valid })}
        {sheet.invalid === 0 ? null : (
          <Text span className="error-text">{` · ${t('batches.invalid', { count: sheet.invalid })}`}</Text>
        )}
      </Text>
      <Text size="sm">
        {t('batches.total') + formatColon()}
        <CreditAmount value={sheet.quota} fw={600} />
        {' · '}
        {t('batches.balance') + formatColon()}
        <CreditAmount value={sheet.balance} />
      </Text>
    </Group>
  );
}
