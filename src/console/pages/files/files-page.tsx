import {
  ActionIcon,
  Anchor,
  Box,
  Button,
  FileButton,
  Group,
  Progress,
  Stack,
  Text,
  UnstyledButton,
} from '@mantine/core';
import {
  IconFileText,
  IconFolderOpen,
  IconMusic,
  IconPhoto,
  IconRefresh,
  IconSparkles,
  IconTrash,
  IconUpload,
  IconVideo,
  IconX,
} from '@tabler/icons-react';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type DragEvent, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { randomId } from '../../../contract/random-id.ts';
import { CopyIconButton } from '../../components/copy-button.tsx';
import { type Column, DataTable, useMemberColumn } from '../../components/data-table.tsx';
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { EmptyState, Page, PageLoadingIndicator } from '../../components/page.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { type UploadQueue, useUploadQueue } from '../../components/upload-queue.ts';
import { deleteFile, filesPagesQuery, type OwnFile } from '../../data/files.ts';
import { formatDeadline, formatRelativeTime } from '../../data/format-values.ts';
import { ACCEPTED_MEDIA, inputTypeOf } from '../../data/media-types.ts';
import { useSelf } from '../../data/self.ts';
import { formatBytes, StorageUsage, storageQuery } from '../videos/storage-usage.tsx';

/** Files of the account, for videos and batches: upload, preview, use in the studio, delete. */
export function FilesPage() {
  const { t } = useTranslation(['videos', 'app']);
  const files = useInfiniteQuery(filesPagesQuery);
  const queue = useFileUploads();
  const add = (added: readonly File[]): void => {
    for (const file of added) queue.begin(randomId(), file);
  };
  const [shown, setShown] = useState<OwnFile>();
  const [isOver, setOver] = useState(false);
  const rows = files.data?.pages.flatMap(({ data }) => data);
  const isOff = useQuery(storageQuery).data?.enabled === false;
  const offText = useSelf().data?.role === 'root' ? 'files.offAdmin' : 'files.offText';
  const onDrop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    if (!isOff) add([...event.dataTransfer.files]);
  };
  const upload = isOff ? null : <UploadButton onFiles={add} />;
  return (
    <Page
      title={t('files.title')}
      subtitle={t('files.lead')}
      actions={files.isPending || rows?.length === 0 ? undefined : upload}
    >
      <Box
        className={isOver ? 'drop-over' : ''}
        mih="50vh"
        onDragOver={(event) => {
          if (isOff || !event.dataTransfer.types.includes('Files')) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
        }}
        onDrop={onDrop}
      >
        <QueryError query={files} />
        <UploadRows queue={queue} />
        {rows === undefined && files.error === null ? <PageLoadingIndicator /> : null}
        {rows?.length === 0 ? (
          <EmptyState icon={<IconFolderOpen size={28} />} title={t('files.emptyTitle')} action={upload}>
            {t(isOff ? offText : 'files.emptyText')}
          </EmptyState>
        ) : null}
        {rows === undefined || rows.length === 0 ? null : <FileTable rows={rows} onShow={setShown} />}
        {files.hasNextPage ? (
          <Button
            variant="default"
            mt="sm"
            loading={files.isFetchingNextPage}
            onClick={() => void files.fetchNextPage()}
          >
            {t('app:more')}
          </Button>
        ) : null}
      </Box>
      <StorageUsage />
      {shown === undefined ? null : (
        <Dialog title={shown.filename} size="lg" onClose={() => setShown(undefined)}>
          <Preview file={shown} />
        </Dialog>
      )}
    </Page>
  );
}

function UploadButton({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) {
  const { t } = useTranslation('videos');
  return (
    <FileButton accept={`${ACCEPTED_MEDIA},.jsonl`} multiple onChange={onFiles}>
      {(props) => (
        <Button data-create {...props} leftSection={<IconUpload size={16} />}>
          {t('files.upload')}
        </Button>
      )}
    </FileButton>
  );
}

/** Uploads of this page; a finished one becomes a row of the list. */
function useFileUploads(): UploadQueue {
  const { t } = useTranslation('videos');
  const queries = useQueryClient();
  const toasts = useToasts();
  const queue = useUploadQueue({
    onDone(key, { filename }) {
      queue.cancel(key);
      toasts.success(t('files.uploaded', { name: filename }));
      for (const queryKey of [['files', 'list'], storageQuery.queryKey]) void queries.invalidateQueries({ queryKey });
    },
  });
  return queue;
}

function UploadRows({ queue: { uploads, retry, cancel } }: { readonly queue: UploadQueue }) {
  const { t } = useTranslation('videos');
  if (uploads.length === 0) return null;
  return (
    <Stack gap="xs" mb="md" component="ul" p={0} style={{ listStyle: 'none' }} aria-label={t('files.uploads')}>
      {uploads.map(({ key, file, share, error }) => (
        <li key={key}>
          <Group gap="xs" wrap="nowrap">
            <Text size="sm" truncate flex={1}>
              {file.name}
            </Text>
            {error === undefined ? (
              <Text size="xs" c="dimmed">{`${Math.round(share * 100)} %`}</Text>
            ) : (
              <Button
                size="compact-xs"
                variant="default"
                leftSection={<IconRefresh size={13} />}
                onClick={() => retry(key)}
              >
                {t('files.retry')}
              </Button>
            )}
            <ActionIcon aria-label={t('files.cancel', { name: file.name })} onClick={() => cancel(key)}>
              <IconX size={15} />
            </ActionIcon>
          </Group>
          {error === undefined ? (
            <Progress value={share * 100} size="xs" aria-label={file.name} />
          ) : (
            <Text size="xs" className="error-text" role="alert">
              {error}
            </Text>
          )}
        </li>
      ))}
    </Stack>
  );
}

interface FileTableProps {
  readonly rows: readonly OwnFile[];
  readonly onShow: (file: OwnFile) => void;
}

function FileTable({ rows, onShow }: FileTableProps) {
  const { t } = useTranslation('videos');
  const member = useMemberColumn<OwnFile>((file) => file.uploaded_by);
  const columns: readonly Column<OwnFile>[] = [
    {
      label: t('files.name'),
      cell: (file) => (
        <Group gap="sm" wrap="nowrap">
          <UnstyledButton
            className="input-thumbnail"
            aria-label={t('files.preview', { name: file.filename })}
            onClick={() => onShow(file)}
          >
            <Thumbnail file={file} />
          </UnstyledButton>
          <Box miw={0}>
            <Anchor
              component="button"
              type="button"
              size="sm"
              ta="start"
              style={{ overflowWrap: 'anywhere' }}
              onClick={() => onShow(file)}
            >
              {file.filename}
            </Anchor>
            <Group gap={2} wrap="nowrap">
              <Text size="xs" c="dimmed" truncate maw={150}>
                {file.id}
              </Text>
              <CopyIconButton text={file.id} label={t('files.copyId')} />
            </Group>
          </Box>
        </Group>
      ),
    },
    ...member,
    { label: t('files.type'), cell: ({ mime_type }) => mime_type.split('/')[1]?.toUpperCase() },
    {
      label: t('files.purpose'),
      cell: ({ purpose }) => t(`files.purposes.${purpose as 'vision'}`, { defaultValue: purpose }),
    },
    { label: t('files.size'), align: 'right', cell: ({ bytes }) => formatBytes(bytes) },
    {
      label: t('files.expires'),
      cell: ({ expires_at }) => <span title={formatDeadline(expires_at)}>{formatRelativeTime(expires_at)}</span>,
    },
    { label: t('files.actions'), hideLabel: true, align: 'right', cell: (file) => <FileActions file={file} /> },
  ];
  return <DataTable label={t('files.title')} rows={rows} rowKey={({ id }) => id} columns={columns} />;
}

function FileActions({ file }: { readonly file: OwnFile }) {
  const { t } = useTranslation('videos');
  const queries = useQueryClient();
  const toasts = useToasts();
  const remove = async (): Promise<void> => {
    await deleteFile(file.id);
    await Promise.all([
      queries.invalidateQueries({ queryKey: ['files'] }),
      queries.invalidateQueries({ queryKey: storageQuery.queryKey }),
    ]);
    toasts.success(t('files.deleted', { name: file.filename }));
  };
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      {inputTypeOf(file.mime_type) === undefined ? null : (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconSparkles size={15} />}
          renderRoot={(props) => <Link to="/studio" search={{ file: file.id }} {...props} />}
        >
          {t('files.use')}
        </Button>
      )}
      <ConfirmDialog
        title={t('files.deleteTitle', { name: file.filename })}
        confirmLabel={t('files.delete')}
        onConfirm={remove}
        trigger={(open) => (
          <ActionIcon color="red" aria-label={t('files.deleteFile', { name: file.filename })} onClick={open}>
            <IconTrash size={16} />
          </ActionIcon>
        )}
      >
        {t('files.deleteText')}
      </ConfirmDialog>
    </Group>
  );
}

function Thumbnail({ file: { mime_type, url } }: { readonly file: OwnFile }): ReactNode {
  const type = inputTypeOf(mime_type);
  if (type === 'image')
    return (
      <>
        <IconPhoto size={18} aria-hidden />
        <img src={url} alt="" loading="lazy" />
      </>
    );
  if (type === 'video')
    return (
      <>
        <IconVideo size={18} aria-hidden />
        <video src={`${url}#t=0.05`} muted preload="metadata" aria-hidden />
      </>
    );
  return type === 'audio' ? <IconMusic size={18} aria-hidden /> : <IconFileText size={18} aria-hidden />;
}

function Preview({ file: { filename, mime_type, url, sha256, bytes } }: { readonly file: OwnFile }) {
  const { t } = useTranslation('videos');
  const type = inputTypeOf(mime_type);
  return (
    <Stack gap="sm">
      {type === 'image' ? <img className="file-preview" src={url} alt={filename} /> : null}
      {type === 'video' ? (
        // biome-ignore lint/a11y/useMediaCaption: an uploaded file has no captions
        <video className="file-preview" src={url} aria-label={filename} controls playsInline preload="metadata" />
      ) : null}
      {type === 'audio' ? (
        // biome-ignore lint/a11y/useMediaCaption: an uploaded file has no captions
        <audio src={url} aria-label={filename} controls style={{ width: '100%' }} />
      ) : null}
      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {mime_type} · {formatBytes(bytes)} · SHA-256 {sha256}
      </Text>
      <Anchor size="sm" href={url} download={filename}>
        {t('files.download')}
      </Anchor>
    </Stack>
  );
}
