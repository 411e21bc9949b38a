import { Anchor, Badge, Box, Button, FileButton, Group, Progress, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import {
  IconDownload,
  IconPlayerPause,
  IconPlayerPlay,
  IconRefresh,
  IconStack2,
  IconUpload,
  IconX,
} from '@tabler/icons-react';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreditAmount, useFormatCredits } from '../../components/credit-amount.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog, FormDialog } from '../../components/dialog.tsx';
import { ErrorAlert, QueryError } from '../../components/error-alert.tsx';
import { EmptyState, Page, PageLoadingIndicator } from '../../components/page.tsx';
import { Panel } from '../../components/panel.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { useToasts } from '../../components/toasts.tsx';
import {
  type Batch,
  type BatchChange,
  type BatchLine,
  batchLinesQuery,
  batchPagesQuery,
  batchQuery,
  changeBatch,
  createBatch,
  downloadResults,
  hasEnded,
} from '../../data/batches.ts';
import { downloadFile, uploadFile } from '../../data/files.ts';
import { formatDateTime, formatDeadline, formatRelativeTime } from '../../data/format-values.ts';
import { useModelTitle, useSelf } from '../../data/self.ts';
import { storageQuery } from '../videos/storage-usage.tsx';
import { SheetPanel } from './sheet-panel.tsx';

/** One batch: its progress, what it costs, its lines, and the changes its owner can make. */
export function BatchPage() {
  const { batchId } = useParams({ from: '/app/batches/$batchId' });
  const { t } = useTranslation('requests');
  const { data: batch, error, refetch } = useQuery(batchQuery(batchId));
  if (batch === undefined && error === null) return <PageLoadingIndicator />;
  const title = batch?.metadata?.name ?? batchId;
  return (
    <Page title={title} actions={batch === undefined ? null : <BatchActions batch={batch} />}>
      <Stack gap="lg">
        <Anchor size="sm" renderRoot={(props) => <Link to="/batches" {...props} />}>
          {t('batches.back')}
        </Anchor>
        <ErrorAlert error={error} retry={() => void refetch()} />
        {batch === undefined ? null : (
          <>
            <BatchFacts batch={batch} />
            {batch.errors === null ? <BatchLines batch={batch} /> : <FileErrors errors={batch.errors.data} />}
          </>
        )}
      </Stack>
    </Page>
  );
}

function BatchActions({ batch }: { readonly batch: Batch }) {
  const { t } = useTranslation('requests');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (name: BatchChange) => changeBatch(batch.id, name),
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ['batches'] });
      if (id === batch.id) return;
      toasts.success(t('batches.retried'));
      void navigate({ to: '/batches/$batchId', params: { batchId: id } });
    },
  });
  const download = useMutation({ mutationFn: () => downloadResults(batch.id) });
  const canStop = batch.status === 'validating' || batch.status === 'in_progress';
  const isPaused = batch.paused_at !== null;
  return (
    <Stack gap="xs" align="flex-end">
      <Group gap="sm">
        {canStop ? (
          <Button
            variant="default"
            leftSection={isPaused ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />}
            loading={change.isPending}
            onClick={() => change.mutate(isPaused ? 'resume' : 'pause')}
          >
            {t(isPaused ? 'batches.resume' : 'batches.pause')}
          </Button>
        ) : null}
        {canStop ? (
          <ConfirmDialog
            title={t('batches.cancelTitle')}
            confirmLabel={t('batches.cancel')}
            onConfirm={async () => void (await change.mutateAsync('cancel'))}
            trigger={(open) => (
              <Button variant="default" color="red" leftSection={<IconX size={16} />} onClick={open}>
                {t('batches.cancel')}
              </Button>
            )}
          >
            {t('batches.cancelText')}
          </ConfirmDialog>
        ) : null}
        {hasEnded(batch) && batch.request_counts.failed > 0 ? (
          <Button
            variant="default"
            leftSection={<IconRefresh size={16} />}
            loading={change.isPending}
            onClick={() => change.mutate('retry')}
          >
            {t('batches.retry')}
          </Button>
        ) : null}
        {batch.request_counts.total === 0 ? null : (
          <Button
            leftSection={<IconDownload size={16} />}
            loading={download.isPending}
            onClick={() => download.mutate()}
          >
            {t('batches.results')}
          </Button>
        )}
      </Group>
      <ErrorAlert error={change.error ?? download.error} />
    </Stack>
  );
}

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </div>
  );
}

function BatchFacts({ batch }: { readonly batch: Batch }) {
  const { t } = useTranslation('requests');
  const format = useFormatCredits();
  const { spent, budget, expires_at: expires, retry_of: retryOf } = batch;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
      <Fact label={t('batches.status')}>
        <BatchStatus batch={batch} />
      </Fact>
      <Fact label={t('batches.progress')}>
        <BatchProgress batch={batch} />
      </Fact>
      <Fact label={t('batches.spent')}>
        {budget === null ? format(spent) : t('batches.ofBudget', { spent: format(spent), budget: format(budget) })}
      </Fact>
      <Fact label={t('batches.created')}>{formatDateTime(batch.created_at)}</Fact>
      {hasEnded(batch) || expires === null ? null : <Fact label={t('batches.expires')}>{formatDeadline(expires)}</Fact>}
      {retryOf === null ? null : (
        <Fact label={t('batches.repeats')}>
          <Anchor
            size="sm"
            renderRoot={(props) => <Link to="/batches/$batchId" params={{ batchId: retryOf }} {...props} />}
          >
            {retryOf}
          </Anchor>
        </Fact>
      )}
    </SimpleGrid>
  );
}

function FileErrors({ errors }: { readonly errors: NonNullable<Batch['errors']>['data'] }) {
  const { t } = useTranslation('requests');
  return (
    <Panel title={t('batches.fileErrors')}>
      <Table aria-label={t('batches.fileErrors')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={80}>{t('batches.line')}</Table.Th>
            <Table.Th>{t('batches.message')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {errors.map(({ line, code, message }) => (
            <Table.Tr key={`${line}:${code}`}>
              <Table.Td>{line ?? '–'}</Table.Td>
              <Table.Td>{t(`batches.defects.${code as 'empty_file'}`, { defaultValue: message })}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}

const FILTERS = ['all', 'running', 'completed', 'failed'] as const;

function BatchLines({ batch }: { readonly batch: Batch }) {
  const { t } = useTranslation(['requests', 'app']);
  const [filter, setFilter] = useState<(typeof FILTERS)[number]>('all');
  const lines = useInfiniteQuery(batchLinesQuery(batch, filter === 'all' ? undefined : filter));
  const rows = lines.data?.pages.flatMap((page) => page.lines);
  const columns: readonly Column<BatchLine>[] = [
    { label: t('batches.id'), cell: ({ custom_id }) => <span style={{ overflowWrap: 'anywhere' }}>{custom_id}</span> },
    { label: t('batches.status'), cell: ({ state }) => t(`batches.states.${state}`) },
    { label: t('batches.cost'), align: 'right', cell: ({ quota }) => <CreditAmount value={quota} /> },
    { label: t('batches.outcome'), cell: (line) => <LineOutcome line={line} /> },
  ];
  return (
    <Panel title={t('batches.lines')}>
      <Stack>
        <SegmentedControl
          size="xs"
          value={filter}
          onChange={(next) => setFilter(next as typeof filter)}
          data={FILTERS.map((value) => ({
            value,
            label: value === 'all' ? t('batches.all') : t(`batches.states.${value}`),
          }))}
        />
        <QueryError query={lines} />
        {rows?.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('batches.noLines')}
          </Text>
        ) : (
          <DataTable label={t('batches.lines')} rows={rows} rowKey={({ line }) => line} columns={columns} />
        )}
        {lines.hasNextPage ? (
          <Group>
            <Button variant="default" loading={lines.isFetchingNextPage} onClick={() => void lines.fetchNextPage()}>
              {t('app:more')}
            </Button>
          </Group>
        ) : null}
      </Stack>
    </Panel>
  );
}

function LineOutcome({ line: { video_id: video, error } }: { readonly line: BatchLine }) {
  const { t } = useTranslation('requests');
  return (
    <>
      {video === null ? null : (
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: video }} {...props} />}>
          {t('batches.open')}
        </Anchor>
      )}
      {error === null ? null : (
        <Text size="xs" className="error-text">
          {t(`batches.reasons.${error.code as 'interrupted'}`, { defaultValue: error.message || error.code })}
        </Text>
      )}
    </>
  );
}

const EXAMPLE =
  'custom_id,prompt,seconds,size\nshot-1,A boat on a calm lake at dawn,4,1280x720\nshot-2,A city at night,4,1280x720\n';
/** Enough for the first line of most files. */
const HEAD_BYTES = 64 * 1024;

/** The account's batches, and the start of new ones from a file. */
export function BatchesPage() {
  const { t } = useTranslation(['requests', 'app']);
  const batches = useInfiniteQuery(batchPagesQuery);
  const isOff = useQuery(storageQuery).data?.enabled === false;
  const offText = useSelf().data?.role === 'root' ? 'batches.offAdmin' : 'batches.offText';
  const [sheet, setSheet] = useState<{ readonly name: string; readonly csv: string }>();
  const [lines, setLines] = useState<File>();
  const choose = async (file: File | null): Promise<void> => {
    if (file === null) return;
    if (/\.jsonl$/i.test(file.name)) setLines(file);
    else setSheet({ name: file.name, csv: await file.text() });
  };
  const rows = batches.data?.pages.flatMap(({ data }) => data);
  const upload = isOff ? null : (
    <Group gap="sm">
      <Button variant="default" onClick={() => downloadFile('example.csv', new Blob([EXAMPLE], { type: 'text/csv' }))}>
        {t('batches.example')}
      </Button>
      <FileButton accept=".csv,.tsv,.txt,.jsonl" onChange={(file) => void choose(file)}>
        {(props) => (
          <Button {...props} leftSection={<IconUpload size={16} />}>
            {t('batches.upload')}
          </Button>
        )}
      </FileButton>
    </Group>
  );
  return (
    <Page title={t('batches.title')} subtitle={t('batches.lead')} actions={upload}>
      <Stack gap="lg">
        {sheet === undefined ? null : <SheetPanel key={sheet.csv} {...sheet} onClose={() => setSheet(undefined)} />}
        <QueryError query={batches} />
        {rows === undefined && batches.error === null ? <PageLoadingIndicator /> : null}
        {rows?.length === 0 && sheet === undefined ? (
          <EmptyState icon={<IconStack2 size={28} />} title={t('batches.emptyTitle')}>
            {t(isOff ? offText : 'batches.emptyText')}
          </EmptyState>
        ) : null}
        {rows === undefined || rows.length === 0 ? null : <BatchTable rows={rows} />}
        {batches.hasNextPage ? (
          <Group>
            <Button variant="default" loading={batches.isFetchingNextPage} onClick={() => void batches.fetchNextPage()}>
              {t('app:more')}
            </Button>
          </Group>
        ) : null}
      </Stack>
      {lines === undefined ? null : <LinesDialog file={lines} onClose={() => setLines(undefined)} />}
    </Page>
  );
}

function BatchTable({ rows }: { readonly rows: readonly Batch[] }) {
  const titleOf = useModelTitle();
  const { t } = useTranslation('requests');
  const columns: readonly Column<Batch>[] = [
    {
      label: t('batches.name'),
      cell: (batch) => (
        <>
          <Anchor
            size="sm"
            style={{ overflowWrap: 'anywhere' }}
            renderRoot={(props) => <Link to="/batches/$batchId" params={{ batchId: batch.id }} {...props} />}
          >
            {batch.metadata?.name ?? batch.id}
          </Anchor>
          <Text size="xs" c="dimmed">
            {[batch.endpoint, batch.model && titleOf(batch.model), batch.submitted_by].filter(Boolean).join(' · ')}
          </Text>
        </>
      ),
    },
    { label: t('batches.status'), cell: (batch) => <BatchStatus batch={batch} /> },
    { label: t('batches.progress'), cell: (batch) => <BatchProgress batch={batch} /> },
    { label: t('batches.spent'), align: 'right', cell: ({ spent }) => <CreditAmount value={spent} /> },
    {
      label: t('batches.created'),
      cell: ({ created_at }) => <span title={formatDateTime(created_at)}>{formatRelativeTime(created_at)}</span>,
    },
  ];
  return <DataTable label={t('batches.title')} rows={rows} rowKey={({ id }) => id} columns={columns} />;
}

/** Uploads a JSONL file and starts its batch. */
function LinesDialog({ file, onClose }: { readonly file: File; readonly onClose: () => void }) {
  const { t } = useTranslation('requests');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const toasts = useToasts();
  const endpoint = useQuery({
    queryKey: ['batches', 'endpoint', file.name, file.size],
    queryFn: () => endpointOf(file),
  });
  const save = useMutation({
    mutationFn: async () => {
      const signal = new AbortController().signal;
      const { id } = await uploadFile(file, { signal, onProgress: () => {} });
      const metadata = { name: file.name.slice(0, 512) };
      return createBatch({ input_file_id: id, endpoint: endpoint.data ?? '', metadata });
    },
    onSuccess: ({ id }) => {
      toasts.success(t('batches.started'));
      void queries.invalidateQueries({ queryKey: ['batches'] });
      void navigate({ to: '/batches/$batchId', params: { batchId: id } });
    },
  });
  return (
    <FormDialog
      title={t('batches.jsonlTitle', { name: file.name })}
      submitLabel={t('batches.jsonlStart')}
      save={save}
      onClose={onClose}
      disabled={endpoint.data === undefined || endpoint.data === ''}
    >
      <Text
        size="sm"
        className={endpoint.data === '' ? 'error-text' : ''}
        role={endpoint.data === '' ? 'alert' : 'note'}
      >
        {endpoint.data === '' ? t('batches.jsonlBad') : t('batches.jsonlText', { endpoint: endpoint.data ?? '…' })}
      </Text>
    </FormDialog>
  );
}

/** The endpoint that the first line of a file names; empty if it is none of the Batch API. */
async function endpointOf(file: File): Promise<string> {
  const head = await file.slice(0, HEAD_BYTES).text();
  return /"url"\s*:\s*"(\/v1\/[a-z/]{1,60})"/.exec(head)?.[1] ?? '';
}

const COLORS = {
  validating: 'gray',
  failed: 'red',
  in_progress: 'blue',
  finalizing: 'blue',
  completed: 'teal',
  expired: 'orange',
  cancelling: 'gray',
  cancelled: 'gray',
  paused: 'yellow',
} as const;

/** The state of a batch as its owner sees it. */
const stateOf = ({ status, paused_at }: Batch) =>
  paused_at !== null && (status === 'in_progress' || status === 'validating') ? 'paused' : status;

/** Badge with the state of a batch. */
function BatchStatus({ batch }: { readonly batch: Batch }) {
  const { t } = useTranslation('requests');
  const state = stateOf(batch);
  return (
    <Badge color={COLORS[state]} style={{ flexShrink: 0 }}>
      {t(`batches.statuses.${state}`)}
    </Badge>
  );
}

/** Bar and counts of the ended lines. */
function BatchProgress({ batch }: { readonly batch: Batch }) {
  const { t } = useTranslation('requests');
  const { total, completed, failed } = batch.request_counts;
  const share = (count: number): number => (total === 0 ? 0 : (100 * count) / total);
  const label = t('batches.counts', { total, completed, failed });
  return (
    <Box miw={160}>
      <Progress.Root size="sm" aria-label={label}>
        <Progress.Section value={share(completed)} color="teal" aria-label={label} />
        <Progress.Section value={share(failed)} color="red" aria-label={label} />
      </Progress.Root>
      <Text size="xs" c="dimmed" mt={4}>
        {label}
      </Text>
    </Box>
  );
}
