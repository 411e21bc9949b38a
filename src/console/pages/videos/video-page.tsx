import {
  ActionIcon,
  Anchor,
  Button,
  Code,
  Grid,
  Group,
  Paper,
  ScrollArea,
  Skeleton,
  Stack,
  Table,
  Text,
  Title,
} from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import {
  IconCheck,
  IconChevronLeft,
  IconChevronRight,
  IconCode,
  IconCopy,
  IconLifebuoy,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { CopyButton, CopyIconButton } from '../../components/copy-button.tsx';
import { CreditAmount, useFormatCredits, useRounding, useUnitPrice } from '../../components/credit-amount.tsx';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { QueryError, toErrorMessage } from '../../components/error-alert.tsx';
import { ModelName } from '../../components/model-name.tsx';
import { Page } from '../../components/page.tsx';
import { RouteLink } from '../../components/route-link.tsx';
import { outsideDialogs, pressOnKey } from '../../components/shortcut-keys.ts';
import { TaskProgress, VideoFailure, VideoStatusBadge } from '../../components/task-status.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { VideoPlayer } from '../../components/video-player.tsx';
import {
  formatAside,
  formatDateTime,
  formatDeadline,
  formatDecimal,
  formatDuration,
  formatLabelled,
  formatNames,
} from '../../data/format-values.ts';
import { type Receipt, receiptQuery } from '../../data/requests.ts';
import { CHANGE_OPERATIONS, canDo, usableModelsQuery } from '../../data/self.ts';
import {
  deleteVideo,
  type Video,
  type VideoDetail,
  videoQuery,
  videoSharesQuery,
  videosQuery,
} from '../../data/videos.ts';
import type requestStrings from '../../strings/en/requests.ts';
import { firstFrameUpload, RemixButtons } from '../studio/current-video.tsx';
import { type RemixActions, repeatVideo, useSubmitVideos } from '../studio/remix-actions.ts';
import { describeParameters } from './describe-parameters.ts';
import { Lineage } from './lineage.tsx';
import { ShareTable } from './shares-page.tsx';

const CodeSamples = lazy(() => import('../studio/video-samples-dialog.tsx'));

/** One video: the player with everything to do with it, its facts and what it cost; the arrow keys lead to others. */
export function VideoPage() {
  const { t } = useTranslation(['studio', 'library']);
  const { taskId } = useParams({ from: '/app/videos/$taskId' });
  // Versions may have been added since the studio fetched it.
  const video = useQuery({ ...videoQuery(taskId), refetchOnMount: 'always' });
  return (
    <Page
      title={video.data === undefined ? t('library:videosTitle') : videoTitle(video.data.prompt, t('noPrompt'))}
      subtitle={
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      }
      actions={<Neighbours taskId={taskId} />}
    >
      <QueryError query={video} />
      {video.data === undefined ? (
        video.error === null ? (
          <Skeleton h={420} radius="lg" />
        ) : null
      ) : (
        <VideoView key={taskId} video={video.data} />
      )}
    </Page>
  );
}

function VideoView({ video }: { readonly video: VideoDetail }) {
  const [file, setFile] = useState<FileFacts>();
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 8 }}>
        {video.status === 'FAILURE' ? (
          <VideoFailure video={video} />
        ) : video.status !== 'SUCCESS' ? (
          <TaskProgress video={video} />
        ) : (
          <VideoPlayer
            src={video.play_url}
            title={video.prompt}
            frameControls
            ambient
            onMetadata={({ videoWidth: width, videoHeight: height, duration: seconds }) =>
              setFile({ width, height, seconds })
            }
            {...firstFrameUpload(video)}
          />
        )}
        <Stack gap="md" mt="sm">
          <VideoActions video={video} />
          <VideoPrompt prompt={video.prompt} />
          <Lineage video={video} />
          {video.status === 'SUCCESS' ? <VideoShares taskId={video.task_id} /> : null}
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <VideoDetails video={video} file={file} />
      </Grid.Col>
    </Grid>
  );
}

const MAX_TITLE_LENGTH = 80;

/** Start of the prompt, cut at a word boundary. */
function videoTitle(prompt: string, fallback: string): string {
  const line = prompt.trim().split('\n', 1)[0] ?? '';
  if (line.length <= MAX_TITLE_LENGTH) return line === '' ? fallback : line;
  return `${line.slice(0, MAX_TITLE_LENGTH).replace(/\s+\S*$/, '')}…`;
}

/** The prompt, unless the heading shows all of it. */
function VideoPrompt({ prompt }: { readonly prompt: string }) {
  if (prompt === '' || videoTitle(prompt, '') === prompt) return null;
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {prompt}
    </Text>
  );
}

/** Share links of the video, if any. */
function VideoShares({ taskId }: { readonly taskId: string }) {
  const { t } = useTranslation('library');
  const { data: shares = [] } = useQuery(videoSharesQuery(taskId));
  if (shares.length === 0) return null;
  return (
    <Paper withBorder p="md">
      <Title order={2} mb="xs">
        {t('share.links')}
      </Title>
      <ShareTable shares={shares} withVideo={false} />
    </Paper>
  );
}

/** Newest videos among which neighbours are found if the video was not opened from a list. */
const NEIGHBOURS_COUNT = 48;

/** The videos before and after this one in the list it was opened from, else among the newest. */
function useNeighbours(taskId: string): { readonly newer?: Video | undefined; readonly older?: Video | undefined } {
  const queries = useQueryClient();
  const newest = useQuery(videosQuery(1, NEIGHBOURS_COUNT));
  const known = queries.getQueriesData<typeof newest.data>({ queryKey: ['videos', 'list'] }).map(([, list]) => list);
  const rows = [...known.toReversed(), newest.data].map((list) => list?.data ?? []);
  // A list of one video, such as that of a filter, has no neighbours.
  const list = rows.find((each) => each.length > 1 && each.some(({ task_id }) => task_id === taskId)) ?? [];
  const index = list.findIndex(({ task_id }) => task_id === taskId);
  return index < 0 ? {} : { newer: list[index - 1], older: list[index + 1] };
}

/** Buttons to the neighbours, and the arrow keys; on the player, those seek. */
function Neighbours({ taskId }: { readonly taskId: string }) {
  const { t } = useTranslation('studio');
  const navigate = useNavigate();
  const { newer, older } = useNeighbours(taskId);
  const go = (video: Video | undefined): void => {
    if (video === undefined || document.activeElement instanceof HTMLVideoElement) return;
    void navigate({ to: '/videos/$taskId', params: { taskId: video.task_id } });
  };
  useHotkeys([
    ['ArrowLeft', outsideDialogs(() => go(newer))],
    ['ArrowRight', outsideDialogs(() => go(older))],
  ]);
  if (newer === undefined && older === undefined) return null;
  const button = (video: Video | undefined, label: string, icon: React.ReactNode) => (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={label}
      data-hint={label}
      disabled={video === undefined}
      onClick={() => go(video)}
    >
      {icon}
    </ActionIcon>
  );
  return (
    <>
      {button(newer, t('previousVideo'), <IconChevronLeft size={18} />)}
      {button(older, t('nextVideo'), <IconChevronRight size={18} />)}
    </>
  );
}

/** Actions of the studio, for a page without its form: what needs the form opens the studio. */
function useVideoActions(): RemixActions {
  const { t } = useTranslation(['studio', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const navigate = useNavigate();
  const { data: models = [] } = useQuery(usableModelsQuery);
  const onError = (error: Error): void => toasts.error(toErrorMessage(error, t('app:unreachable')));
  const run = useSubmitVideos((taskIds) => void navigate({ to: '/studio', search: { show: taskIds.join(',') } }));
  const repeat = async (taskId: string, hasNewSeed: boolean): Promise<void> => {
    const { body } = await repeatVideo(queries, taskId, hasNewSeed);
    if (body === undefined) await navigate({ to: '/studio', search: { again: taskId } });
    else run.mutate([body], { onError });
  };
  return {
    vary: (taskId) => void repeat(taskId, true).catch(onError),
    retry: (taskId) => void repeat(taskId, false).catch(onError),
    remix: (again) => void navigate({ to: '/studio', search: { again } }),
    change: (taskId, operation) => void navigate({ to: '/studio', search: { [operation]: taskId } }),
    takeLastFrame: (frame) => void navigate({ to: '/studio', search: { frame } }),
    takeFile: (file) => void navigate({ to: '/studio', search: { file } }),
    offered: CHANGE_OPERATIONS.filter((operation) =>
      models.some((model) => model.permitted && canDo(model, operation)),
    ),
  };
}

function VideoActions({ video }: { readonly video: VideoDetail }) {
  const { t } = useTranslation('library');
  const actions = useVideoActions();
  useHotkeys(['r', 'v', 'e', 'd', 'l'].map((key) => [key, pressOnKey(key)] as const));
  return (
    <Stack gap="xs">
      <RemixButtons video={video} actions={actions} isOpen />
      <Group gap={4}>
        {video.prompt === '' ? null : <CopyPromptButton prompt={video.prompt} />}
        <CodeButton video={video} />
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconLifebuoy size={16} />}
          renderRoot={(props) => <Link to="/tickets/new" search={{ task: video.task_id }} {...props} />}
        >
          {t('help')}
        </Button>
        {isTerminal(video.status) ? <DeleteButton taskId={video.task_id} /> : null}
      </Group>
    </Stack>
  );
}

function CopyPromptButton({ prompt }: { readonly prompt: string }) {
  const { t } = useTranslation(['studio', 'app']);
  return (
    <CopyButton value={prompt}>
      {({ copied, copy }) => (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
          onClick={copy}
        >
          {copied ? t('app:copied') : t('copyPrompt')}
        </Button>
      )}
    </CopyButton>
  );
}

/** The request of the video as code, to generate it from a program. */
function CodeButton({ video }: { readonly video: VideoDetail }) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const [body, setBody] = useState<Record<string, unknown>>();
  const open = async (): Promise<void> => {
    const { body: repeated } = await repeatVideo(queries, video.task_id, false);
    setBody(repeated ?? (video.request as Record<string, unknown>));
  };
  return (
    <>
      <Button
        size="compact-sm"
        variant="subtle"
        color="gray"
        leftSection={<IconCode size={16} />}
        onClick={() => void open()}
      >
        {t('code')}
      </Button>
      {body === undefined ? null : (
        <Suspense>
          <CodeSamples body={body} onClose={() => setBody(undefined)} />
        </Suspense>
      )}
    </>
  );
}

function DeleteButton({ taskId }: { readonly taskId: string }) {
  const { t } = useTranslation('library');
  const queries = useQueryClient();
  const toasts = useToasts();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await deleteVideo(taskId);
    await queries.invalidateQueries({ queryKey: ['videos', 'list'] });
    toasts.success(t('deleted'));
    await navigate({ to: '/videos' });
  };
  return (
    <ConfirmDialog
      title={t('deleteTitle')}
      confirmLabel={t('delete')}
      onConfirm={remove}
      trigger={(open) => (
        <Button size="compact-sm" variant="subtle" color="red" leftSection={<IconTrash size={16} />} onClick={open}>
          {t('delete')}
        </Button>
      )}
    >
      {t('deleteText')}
    </ConfirmDialog>
  );
}

/** Facts of a file, as the browser read them from it. */
interface FileFacts {
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
}

/** Facts of a video, what it cost, and its parameters. */
function VideoDetails({ video, file }: { readonly video: VideoDetail; readonly file: FileFacts | undefined }) {
  const { t } = useTranslation('library');
  const parameterName = (name: string): string =>
    t(`parameterNames.${name as 'seconds'}`, { defaultValue: name.replaceAll('_', ' ') });
  return (
    <Stack>
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          {t('facts')}
        </Title>
        <FactTable rows={useFacts(video, file)} />
        <Group gap={4} wrap="nowrap" mt="xs">
          <Code style={{ overflowWrap: 'anywhere' }}>{video.task_id}</Code>
          <CopyIconButton text={video.task_id} />
        </Group>
      </Paper>
      <VideoReceipt video={video} />
      <Paper withBorder p="md">
        <Title order={2} mb="xs">
          {t('parameters')}
        </Title>
        <FactTable
          rows={describeParameters(video.request).map(([name, value]) => [
            parameterName(name),
            typeof value === 'boolean' ? t(value ? 'parameterOn' : 'parameterOff') : String(value),
          ])}
        />
        <details>
          <summary style={{ cursor: 'pointer' }}>JSON</summary>
          <ScrollArea.Autosize mah={320} viewportProps={{ tabIndex: 0 }} mt="xs">
            <Code block>{JSON.stringify(video.request, null, 2)}</Code>
          </ScrollArea.Autosize>
        </details>
      </Paper>
    </Stack>
  );
}

type Fact = readonly [name: string, value: ReactNode];

function useFacts(video: VideoDetail, file: FileFacts | undefined): readonly Fact[] {
  const { t } = useTranslation(['studio', 'library', 'app']);
  const marksOf = ({ c2pa, signer, aigc }: NonNullable<VideoDetail['provenance']>): readonly string[] => {
    const manifest = c2pa === 'absent' ? [] : t(`library:provenanceMarks.c2pa.${c2pa}`, { signer });
    const marks = [manifest, aigc ? t('library:provenanceMarks.aigc') : []].flat();
    return marks.length === 0 ? [t('library:provenanceMarks.none')] : marks;
  };
  const took = formatDuration(video.finish_time - video.submit_time);
  const rows: readonly (Fact | undefined)[] = [
    [t('library:filterStatus'), <VideoStatusBadge key="status" {...video} />],
    [t('model'), <ModelName key="model" id={video.model} />],
    video.imported ? [t('library:imported'), t('library:importedHint')] : undefined,
    [t('library:submitted'), formatDateTime(video.submit_time)],
    video.submitted_by === undefined ? undefined : [t('app:member'), video.submitted_by],
    video.finish_time === 0
      ? undefined
      : [t('library:finished'), formatAside(formatDateTime(video.finish_time), t('took', { time: took }))],
    file === undefined ? undefined : [t('library:file'), describeFile(file)],
    video.stored_until === 0 ? undefined : [t('library:keptUntil'), formatDeadline(video.stored_until)],
    video.provenance === null ? undefined : [t('library:provenance'), formatNames(marksOf(video.provenance))],
  ];
  return rows.filter((row) => row !== undefined);
}

const describeFile = ({ width, height, seconds }: FileFacts): string =>
  Number.isFinite(seconds) ? `${width} × ${height} · ${formatDuration(seconds)}` : `${width} × ${height}`;

type ReceiptLine = Receipt['lines'][number];
type LineLabel = keyof typeof requestStrings.lines;

/** What the video cost and how the amount came about; an imported one was paid elsewhere. */
function VideoReceipt({ video }: { readonly video: VideoDetail }) {
  const { t } = useTranslation(['requests', 'studio', 'library']);
  const price = useUnitPrice();
  const credits = useFormatCredits();
  const { data: receipt } = useQuery({ ...receiptQuery(video.task_id), enabled: !video.imported });
  const hasLines = receipt !== undefined && receipt.lines.length > 0 && receipt.charged === video.quota;
  const rounding = useRounding(hasLines ? receipt.lines : [], hasLines ? video.quota : 0);
  const sources = receipt?.sources.map(({ kind, quota }) => `${t(`sources.${kind}`)} ${credits(quota)}`) ?? [];
  const times = ({ quantity, unit_quota: unit, multiplier }: ReceiptLine): string =>
    `${formatDecimal(quantity, 2)} × ${price(unit)}${multiplier === 1 ? '' : ` × ${formatDecimal(multiplier, 4)}`}`;
  return (
    <Paper withBorder p="md">
      <Title order={2} mb="xs">
        {t('library:cost')}
      </Title>
      <Stack gap={6} fz="sm" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {receipt?.lines.map((line) => (
          <Group key={line.label} justify="space-between" align="flex-start" gap="xs" wrap="nowrap" c="dimmed">
            <div>
              {t(`lines.${line.label as LineLabel}`, { defaultValue: line.label })}
              <Text size="xs">{times(line)}</Text>
            </div>
            <span>{credits(line.quota)}</span>
          </Group>
        ))}
        {rounding === 0 ? null : (
          <Group justify="space-between" gap="xs" c="dimmed">
            <span>{t('rounding')}</span>
            <span>{credits(rounding)}</span>
          </Group>
        )}
        <Group justify="space-between" gap="xs">
          <Text fw={600} size="sm">
            {t('total')}
          </Text>
          {video.refunded ? (
            <span>
              {t('studio:notCharged')} <s>{credits(video.quota)}</s>
            </span>
          ) : (
            <CreditAmount value={video.quota} fw={600} />
          )}
        </Group>
      </Stack>
      {video.imported ? null : (
        <Group justify="space-between" gap="xs" mt={6}>
          <RouteLink to="/account/receipts/$id" params={{ id: video.task_id }} size="sm">
            {t('library:receipt')}
          </RouteLink>
          <Text size="xs" c="dimmed">
            {sources.length > 0 && formatLabelled(t('paidFrom'), sources.join(' · '))}
          </Text>
        </Group>
      )}
    </Paper>
  );
}

function FactTable({ rows }: { readonly rows: readonly Fact[] }) {
  return (
    <Table layout="fixed" withRowBorders={false} verticalSpacing={4} horizontalSpacing={0} variant="vertical">
      <Table.Tbody>
        {rows.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th w={110} c="dimmed" fw={400} bg="transparent" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
