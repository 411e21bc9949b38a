import { Anchor, Button, FileButton, Group, Stack, Text } from '@mantine/core';
import { IconStack2, IconUpload } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { FormDialog } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { EmptyState, Page, PageLoadingIndicator } from '../../components/page.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { type Batch, batchPagesQuery, createBatch } from '../../data/batches.ts';
import { downloadFile } from '../../data/download-file.ts';
import { formatDateTime, formatRelativeTime } from '../../data/format-times.ts';
import { uploadFile } from '../../data/upload-file.ts';
import { storageQuery } from '../videos/storage-usage.tsx';
import { BatchProgress, BatchStatus } from './batch-status.tsx';
import { SheetPanel } from './sheet-panel.tsx';

const EXAMPLE =
  'custom_id,prompt,seconds,size\nshot-1,A boat on a calm lake at dawn,4,1280x720\nshot-2,A city at night,4,1280x720\n';
/** Enough for the first line of most files. */
const HEAD_BYTES = 64 * 1024;

/** The account's batches, and the start of new ones from a file. */
export function BatchesPage() {
  const { t } = useTranslation(['batches', 'app']);
  const batches = useInfiniteQuery(batchPagesQuery);
  const isOff = useQuery(storageQuery).data?.enabled === false;
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
        {t('example')}
      </Button>
      <FileButton accept=".csv,.tsv,.txt,.jsonl" onChange={(file) => void choose(file)}>
        {(props) => (
          <Button {...props} leftSection={<IconUpload size={16} />}>
            {t('upload')}
          </Button>
        )}
      </FileButton>
    </Group>
  );
  return (
    <Page title={t('title')} subtitle={t('lead')} actions={upload}>
      <Stack gap="lg">
        {sheet === undefined ? null : <SheetPanel key={sheet.csv} {...sheet} onClose={() => setSheet(undefined)} />}
        <ErrorAlert error={batches.error} retry={() => void batches.refetch()} />
        {rows === undefined && batches.error === null ? <PageLoadingIndicator /> : null}
        {rows?.length === 0 && sheet === undefined ? (
          <EmptyState icon={<IconStack2 size={28} />} title={t('emptyTitle')}>
            {t(isOff ? 'offText' : 'emptyText')}
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
  const { t } = useTranslation('batches');
  const columns: readonly Column<Batch>[] = [
    {
      label: t('name'),
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
            {[batch.endpoint, batch.model, batch.submitted_by].filter(Boolean).join(' · ')}
          </Text>
        </>
      ),
    },
    { label: t('status'), cell: (batch) => <BatchStatus batch={batch} /> },
    { label: t('progress'), cell: (batch) => <BatchProgress batch={batch} /> },
    { label: t('spent'), align: 'right', cell: ({ spent }) => <CreditAmount value={spent} /> },
    {
      label: t('created'),
      cell: ({ created_at }) => <span title={formatDateTime(created_at)}>{formatRelativeTime(created_at)}</span>,
    },
  ];
  return <DataTable label={t('title')} rows={rows} rowKey={({ id }) => id} columns={columns} />;
}

/** Uploads a JSONL file and starts its batch. */
function LinesDialog({ file, onClose }: { readonly file: File; readonly onClose: () => void }) {
  const { t } = useTranslation('batches');
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
      toasts.success(t('started'));
      void queries.invalidateQueries({ queryKey: ['batches'] });
      void navigate({ to: '/batches/$batchId', params: { batchId: id } });
    },
  });
  return (
    <FormDialog
      title={t('jsonlTitle', { name: file.name })}
      submitLabel={t('jsonlStart')}
      save={save}
      onClose={onClose}
      disabled={endpoint.data === undefined || endpoint.data === ''}
    >
      <Text
        size="sm"
        className={endpoint.data === '' ? 'error-text' : ''}
        role={endpoint.data === '' ? 'alert' : 'note'}
      >
        {endpoint.data === '' ? t('jsonlBad') : t('jsonlText', { endpoint: endpoint.data ?? '…' })}
      </Text>
    </FormDialog>
  );
}

/** The endpoint that the first line of a file names; empty if it is none of the Batch API. */
async function endpointOf(file: File): Promise<string> {
  const head = await file.slice(0, HEAD_BYTES).text();
  return /"url"\s*:\s*"(\/v1\/[a-z/]{1,60})"/.exec(head)?.[1] ?? '';
}
