import { Anchor, Button, Group, SimpleGrid, Stack, Table, Text } from '@mantine/core';
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconRefresh, IconX } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreditAmount, useFormatCredits } from '../../components/credit-amount.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page, PageLoadingIndicator } from '../../components/page.tsx';
import { Panel } from '../../components/panel.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { useToasts } from '../../components/toasts.tsx';
import {
  type Batch,
  type BatchChange,
  type BatchLine,
  batchLinesQuery,
  batchQuery,
  changeBatch,
  downloadResults,
  hasEnded,
} from '../../data/batches.ts';
import { formatDateTime, formatDeadline } from '../../data/format-times.ts';
import { BatchProgress, BatchStatus } from './batch-status.tsx';

/** One batch: its progress, what it costs, its lines, and the changes its owner can make. */
export function BatchPage() {
  const { batchId } = useParams({ from: '/app/batches/$batchId' });
  const { t } = useTranslation('batches');
  const { data: batch, error, refetch } = useQuery(batchQuery(batchId));
  if (batch === undefined && error === null) return <PageLoadingIndicator />;
  const title = batch?.metadata?.name ?? batchId;
  return (
    <Page title={title} actions={batch === undefined ? null : <BatchActions batch={batch} />}>
      <Stack gap="lg">
        <Anchor size="sm" renderRoot={(props) => <Link to="/batches" {...props} />}>
          {t('back')}
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
  const { t } = useTranslation('batches');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const toasts = useToasts();
  const change = useMutation({
    mutationFn: (name: BatchChange) => changeBatch(batch.id, name),
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ['batches'] });
      if (id === batch.id) return;
      toasts.success(t('retried'));
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
            {t(isPaused ? 'resume' : 'pause')}
          </Button>
        ) : null}
        {canStop ? (
          <ConfirmDialog
            title={t('cancelTitle')}
            confirmLabel={t('cancel')}
            onConfirm={async () => void (await change.mutateAsync('cancel'))}
            trigger={(open) => (
              <Button variant="default" color="red" leftSection={<IconX size={16} />} onClick={open}>
                {t('cancel')}
              </Button>
            )}
          >
            {t('cancelText')}
          </ConfirmDialog>
        ) : null}
        {hasEnded(batch) && batch.request_counts.failed > 0 ? (
          <Button
            variant="default"
            leftSection={<IconRefresh size={16} />}
            loading={change.isPending}
            onClick={() => change.mutate('retry')}
          >
            {t('retry')}
          </Button>
        ) : null}
        {batch.request_counts.total === 0 ? null : (
          <Button
            leftSection={<IconDownload size={16} />}
            loading={download.isPending}
            onClick={() => download.mutate()}
          >
            {t('results')}
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
  const { t } = useTranslation('batches');
  const format = useFormatCredits();
  const { spent, budget, expires_at: expires, retry_of: retryOf } = batch;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
      <Fact label={t('status')}>
        <BatchStatus batch={batch} />
      </Fact>
      <Fact label={t('progress')}>
        <BatchProgress batch={batch} />
      </Fact>
      <Fact label={t('spent')}>
        {budget === null ? format(spent) : t('ofBudget', { spent: format(spent), budget: format(budget) })}
      </Fact>
      <Fact label={t('created')}>{formatDateTime(batch.created_at)}</Fact>
      {hasEnded(batch) || expires === null ? null : <Fact label={t('expires')}>{formatDeadline(expires)}</Fact>}
      {retryOf === null ? null : (
        <Fact label={t('repeats')}>
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
  const { t } = useTranslation('batches');
  return (
    <Panel title={t('fileErrors')}>
      <Table aria-label={t('fileErrors')}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={80}>{t('line')}</Table.Th>
            <Table.Th>{t('message')}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {errors.map(({ line, code, message }) => (
            <Table.Tr key={`${line}:${code}`}>
              <Table.Td>{line ?? '–'}</Table.Td>
              <Table.Td>{t(`defects.${code as 'empty_file'}`, { defaultValue: message })}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}

const FILTERS = ['all', 'running', 'completed', 'failed'] as const;

function BatchLines({ batch }: { readonly batch: Batch }) {
  const { t } = useTranslation(['batches', 'app']);
  const [filter, setFilter] = useState<(typeof FILTERS)[number]>('all');
  const lines = useInfiniteQuery(batchLinesQuery(batch, filter === 'all' ? undefined : filter));
  const rows = lines.data?.pages.flatMap((page) => page.lines);
  const columns: readonly Column<BatchLine>[] = [
    { label: t('id'), cell: ({ custom_id }) => <span style={{ overflowWrap: 'anywhere' }}>{custom_id}</span> },
    { label: t('status'), cell: ({ state }) => t(`states.${state}`) },
    { label: t('cost'), align: 'right', cell: ({ quota }) => <CreditAmount value={quota} /> },
    { label: t('outcome'), cell: (line) => <LineOutcome line={line} /> },
  ];
  return (
    <Panel title={t('lines')}>
      <Stack>
        <SegmentedControl
          size="xs"
          value={filter}
          onChange={(next) => setFilter(next as typeof filter)}
          data={FILTERS.map((value) => ({ value, label: value === 'all' ? t('all') : t(`states.${value}`) }))}
        />
        <ErrorAlert error={lines.error} retry={() => void lines.refetch()} />
        {rows?.length === 0 ? (
          <Text size="sm" c="dimmed">
            {t('noLines')}
          </Text>
        ) : (
          <DataTable label={t('lines')} rows={rows} rowKey={({ line }) => line} columns={columns} />
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
  const { t } = useTranslation('batches');
  return (
    <>
      {video === null ? null : (
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos/$taskId" params={{ taskId: video }} {...props} />}>
          {t('open')}
        </Anchor>
      )}
      {error === null ? null : (
        <Text size="xs" className="error-text">
          {t(`reasons.${error.code as 'interrupted'}`, { defaultValue: error.message || error.code })}
        </Text>
      )}
    </>
  );
}
