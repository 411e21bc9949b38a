import {
  ActionIcon,
  Anchor,
  Button,
  CopyButton,
  Grid,
  Group,
  Paper,
  Skeleton,
  Stack,
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
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { ConfirmDialog } from '../../components/dialog.tsx';
import { ErrorAlert, toErrorMessage } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { outsideDialogs, pressOnKey } from '../../components/shortcut-keys.ts';
import { TaskProgress, VideoFailure } from '../../components/task-status.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { VideoPlayer } from '../../components/video-player.tsx';
import { CHANGE_OPERATIONS, canDo, usableModelsQuery } from '../../data/models.ts';
import { videoSharesQuery } from '../../data/shares.ts';
import { deleteVideo, type Video, type VideoDetail, videoQuery, videosQuery } from '../../data/videos.ts';
import { firstFrameUpload, RemixButtons } from '../studio/current-video.tsx';
import { type RemixActions, repeatVideo } from '../studio/remix-actions.ts';
import { useSubmitVideos } from '../studio/submit-videos.ts';
import { Lineage } from './lineage.tsx';
import { ShareTable } from './shares-page.tsx';
import { type FileFacts, VideoDetails } from './video-details.tsx';

const CodeSamples = lazy(() => import('../studio/video-samples-dialog.tsx'));

/** One video: the player with everything to do with it, its facts and what it cost; the arrow keys lead to others. */
export function VideoPage() {
  const { t } = useTranslation('studio');
  const { taskId } = useParams({ from: '/app/videos/$taskId' });
  // Versions may have been added since the studio fetched it.
  const video = useQuery({ ...videoQuery(taskId), refetchOnMount: 'always' });
  return (
    <Page
      title={video.data === undefined ? t('videosTitle') : videoTitle(video.data.prompt, t('noPrompt'))}
      subtitle={
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      }
      size="xl"
      actions={<Neighbours taskId={taskId} />}
    >
      <ErrorAlert error={video.error} retry={() => void video.refetch()} />
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
  const { t } = useTranslation('studio');
  const [file, setFile] = useState<FileFacts>();
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 8 }}>
        {video.play_url === '' ? (
          video.status === 'SUCCESS' ? (
            <Text c="dimmed">{t('noFile')}</Text>
          ) : (
            <TaskProgress video={video} />
          )
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
          {video.status === 'FAILURE' ? <VideoFailure video={video} /> : null}
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
  const { t } = useTranslation('studio');
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
  const { t } = useTranslation('studio');
  const actions = useVideoActions();
  useHotkeys(['r', 'v', 'e', 'd', 'l'].map((key) => [key, pressOnKey(key)]));
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
    <CopyButton value={prompt} timeout={1_500}>
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
  const { t } = useTranslation('studio');
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
