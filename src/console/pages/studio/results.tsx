import { Anchor, Button, Group, Loader, Skeleton, Text, Title } from '@mantine/core';
import { IconAlertTriangle, IconArrowUp, IconMovie } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  type KeyboardEvent,
  lazy,
  memo,
  Suspense,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { QueryError } from '../../components/error-alert.tsx';
import { acceptsMotion, HoverClip, useStablePlaybackSource } from '../../components/video-player.tsx';
import { formatLabelled } from '../../data/format-values.ts';
import { selfQuery } from '../../data/self.ts';
import { type Video, videosQuery } from '../../data/videos.ts';
import { NEWEST_VIDEOS_COUNT } from '../../page-start.ts';
import { ComparedVideos } from './compared-videos.tsx';
import { CurrentVideo, Prompt, RemixButtons, VideoFacts } from './current-video.tsx';
import type { RemixActions } from './remix-actions.ts';
import { groupBySubmit, type VideoGroup } from './video-groups.ts';

const Ideas = lazy(async () => ({ default: (await import('./ideas.tsx')).Ideas }));
const Lightbox = lazy(() => import('../../components/lightbox.tsx'));

interface ResultsProps {
  readonly onStage: readonly Video[];
  readonly onShow: (taskIds: readonly string[]) => void;
  readonly actions: RemixActions;
}

/** The newest videos of the account; a failed refetch keeps them, and the page shows separately that it reconnects. */
const useNewestVideos = () => useQuery({ ...videosQuery(1, NEWEST_VIDEOS_COUNT), placeholderData: keepPreviousData });

/** Videos on the stage: those in the URL, otherwise those of the newest submit. */
export function useVideosOnStage(shown: readonly string[]): readonly Video[] {
  const { data } = useNewestVideos();
  return useMemo(() => {
    const recent = data?.data ?? [];
    const found = shown.flatMap((id) => recent.find(({ task_id }) => task_id === id) ?? []);
    return found.length > 0 ? found : (groupBySubmit(recent)[0] ?? []);
  }, [data, shown]);
}

/**
 * The videos. Memoized, because a letter of the prompt would render all of them. The stage's come from the page, so that
 * the stage exists once the small player below the form looks for it.
 */
export const Results = memo(function Results({ onStage, onShow, actions }: ResultsProps) {
  const { t } = useTranslation('studio');
  const videos = useNewestVideos();
  useFreshBalance(videos.data?.data);
  const [enlarged, setEnlarged] = useState<string>();
  if (videos.data === undefined)
    return videos.error === null ? <Skeleton h={460} radius="lg" /> : <QueryError query={videos} />;
  const [one] = onStage;
  if (one === undefined)
    return (
      <section aria-label={t('emptyTitle')}>
        <Title order={2}>{t('emptyTitle')}</Title>
        <Text c="dimmed" size="sm" mb="md">
          {t('emptyText')}
        </Text>
        <Suspense fallback={<Skeleton h={320} radius="lg" />}>
          <Ideas count={8} />
        </Suspense>
      </section>
    );
  const others = videos.data.data.filter((video) => !onStage.includes(video));
  const open = (taskId: string): void => {
    const isFinished = others.some(({ task_id, status }) => task_id === taskId && status === 'SUCCESS');
    if (isFinished) setEnlarged(taskId);
    else toStage(taskId);
  };
  const toStage = (taskId: string): void => {
    setEnlarged(undefined);
    onShow([taskId]);
    scrollToStage();
  };
  return (
    <>
      <div id="stage">
        {onStage.length > 1 ? (
          <ComparedVideos key={one.task_id} videos={onStage} actions={actions} />
        ) : (
          <CurrentVideo key={one.task_id} video={one} actions={actions} />
        )}
      </div>
      <ResultStack groups={groupBySubmit(others)} actions={actions} onOpen={open} />
      {enlarged === undefined ? null : (
        <Suspense>
          <Lightbox
            videos={videos.data.data.filter(({ status }) => status === 'SUCCESS')}
            start={enlarged}
            onClose={() => setEnlarged(undefined)}
            actions={(video) => (
              <Button size="sm" variant="default" onClick={() => toStage(video.task_id)}>
                {t('toStage')}
              </Button>
            )}
          />
        </Suspense>
      )}
    </>
  );
});

/** Refetches the balance when a video finishes, because a failure refunds its price. */
function useFreshBalance(videos: readonly Video[] | undefined): void {
  const queries = useQueryClient();
  const running = videos?.filter(({ status }) => !isTerminal(status)).length ?? 0;
  const before = useRef(running);
  useEffect(() => {
    if (running < before.current) void queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    before.current = running;
  }, [running, queries]);
}

interface ResultStackProps {
  readonly groups: readonly VideoGroup[];
  readonly actions: RemixActions;
  readonly onOpen: (taskId: string) => void;
}

/** Earlier results with their prompts, newest first; the arrow keys move between the videos. */
function ResultStack({ groups, actions, onOpen }: ResultStackProps) {
  const { t } = useTranslation('studio');
  // The rows follow after the first paint.
  const hasRows = useDeferredValue(true, false);
  if (groups.length === 0) return null;
  const move = (event: KeyboardEvent<HTMLElement>): void => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('.tile')];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    if (step === undefined || at < 0) return;
    event.preventDefault();
    buttons[at + step]?.focus();
  };
  return (
    <section aria-label={t('recent')}>
      <Group justify="space-between" mb="xs">
        <Title order={2}>{t('recent')}</Title>
        <Anchor size="sm" renderRoot={(props) => <Link to="/videos" {...props} />}>
          {t('seeAll')}
        </Anchor>
      </Group>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the keys move between the buttons inside */}
      <div className="result-stack" onKeyDown={move}>
        {hasRows
          ? groups.map((group) => <ResultRow key={group[0]?.task_id} group={group} actions={actions} onOpen={onOpen} />)
          : null}
      </div>
    </section>
  );
}

interface ResultRowProps {
  readonly group: VideoGroup;
  readonly actions: RemixActions;
  readonly onOpen: (taskId: string) => void;
}

function ResultRow({ group, actions, onOpen }: ResultRowProps) {
  const { t } = useTranslation('studio');
  const [video] = group;
  if (video === undefined) return null;
  return (
    <article className="result" aria-label={video.prompt === '' ? t('noPrompt') : video.prompt}>
      <div className="result-media" data-count={group.length}>
        {group.map((each) => (
          <ResultTile key={each.task_id} video={each} onOpen={() => onOpen(each.task_id)} />
        ))}
      </div>
      <div className="result-info">
        <Prompt text={video.prompt} lines={3} />
        <VideoFacts video={video} quiet />
        <RemixButtons video={video} actions={actions} compact />
      </div>
    </article>
  );
}

function ResultTile({ video, onOpen }: { readonly video: Video; readonly onOpen: () => void }) {
  const { t } = useTranslation('studio');
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  return (
    <button
      type="button"
      className="tile mantine-focus-auto"
      aria-label={`${prompt} · ${t(`stage.${video.status}`)}`}
      onClick={onOpen}
    >
      {video.status === 'SUCCESS' ? (
        <HoverClip video={video} fallback={<IconMovie size={22} />} />
      ) : video.status === 'FAILURE' ? (
        <IconAlertTriangle size={22} />
      ) : isTerminal(video.status) ? (
        <IconMovie size={22} />
      ) : (
        <Loader size="xs" />
      )}
    </button>
  );
}

/** Below this width the stage is under the prompt bar, and the button is pinned to the bottom. */
const NARROW = '(max-width: 64em)';

/** Whether the page is narrow, with a pinned button. */
export const isNarrow = (): boolean => matchMedia(NARROW).matches;

const watchWidth = (notify: () => void): (() => void) => {
  const query = matchMedia(NARROW);
  query.addEventListener('change', notify);
  return () => query.removeEventListener('change', notify);
};

/** Scrolls to the stage, below the prompt bar. */
export const scrollToStage = (): void =>
  document
    .getElementById('stage')
    ?.scrollIntoView({ block: 'start', behavior: acceptsMotion() ? 'smooth' : 'instant' });

/**
 * The newest result in the pinned bar of narrow pages: shows and opens the stage while it is out of view, and otherwise
 * leads back to the prompt.
 */
export function MiniPlayer({ video }: { readonly video: Video | undefined }) {
  const { t } = useTranslation('studio');
  const narrow = useSyncExternalStore(watchWidth, isNarrow);
  const isStageVisible = useIsStageVisible(narrow ? video?.task_id : undefined);
  if (!narrow || video === undefined) return null;
  if (isStageVisible)
    return (
      <button
        type="button"
        className="mini"
        aria-label={t('toPrompt')}
        onClick={() => document.getElementById('prompt')?.focus()}
      >
        <IconArrowUp size={20} />
      </button>
    );
  return (
    <button
      type="button"
      className="mini"
      aria-label={formatLabelled(t('toResult'), t(`stage.${video.status}`))}
      onClick={scrollToStage}
    >
      {video.status === 'SUCCESS' ? (
        <MiniClip video={video} />
      ) : video.status === 'FAILURE' ? (
        <IconAlertTriangle size={20} />
      ) : isTerminal(video.status) ? (
        <IconMovie size={20} />
      ) : (
        <Loader size="sm" />
      )}
    </button>
  );
}

function MiniClip({ video }: { readonly video: Video }) {
  const { src } = useStablePlaybackSource(video.play_url);
  return <video src={src} muted loop playsInline autoPlay={acceptsMotion()} preload="metadata" aria-hidden />;
}

/** Whether a good part of the stage is in the window. @param key changes with the content of the stage */
function useIsStageVisible(key: string | undefined): boolean {
  const [isVisible, setVisible] = useState(false);
  useEffect(() => {
    const stage = document.getElementById('stage');
    if (key === undefined || stage === null) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => setVisible(entry?.isIntersecting === true),
      // The middle of the window: a stage whose top edge is barely visible cannot be watched.
      { rootMargin: '-30% 0px -30% 0px' },
    );
    observer.observe(stage);
    return () => observer.disconnect();
  }, [key]);
  return isVisible;
}
