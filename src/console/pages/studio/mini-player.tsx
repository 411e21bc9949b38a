import { Loader } from '@mantine/core';
import { IconAlertTriangle, IconArrowUp, IconMovie } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../contract/task-states.ts';
import { acceptsMotion } from '../../components/video-player.tsx';
import { formatLabelled } from '../../data/format-text.ts';
import { type Video, videoQuery } from '../../data/videos.ts';

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
  const { data } = useQuery(videoQuery(video.task_id));
  const link = data?.play_url ?? '';
  if (link === '') return <IconMovie size={20} />;
  return (
    <video src={`${link}#t=0.05`} muted loop playsInline autoPlay={acceptsMotion()} preload="metadata" aria-hidden />
  );
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
