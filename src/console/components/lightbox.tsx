import { ActionIcon, Group, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight, IconX } from '@tabler/icons-react';
import { type KeyboardEvent, type ReactNode, type TouchEvent, useLayoutEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Video } from '../data/videos.ts';
import { acceptsMotion, useStablePlaybackSource } from './video-player.tsx';

interface LightboxProps {
  /** Finished videos, in the order of the page. */
  readonly videos: readonly Video[];
  readonly start: string;
  readonly onClose: () => void;
  /** Actions on the video shown. */
  readonly actions: (video: Video) => ReactNode;
}

/** Shortest movement of a finger that turns the page, in px. */
const SWIPE_PX = 50;

/**
 * One video over the whole window; the arrow keys and a swipe lead to its neighbours, Escape closes. The browser keeps
 * the focus inside, and returns it.
 */
export default function Lightbox({ videos, start, onClose, actions }: LightboxProps) {
  const { t } = useTranslation(['studio', 'app']);
  const dialog = useRef<HTMLDialogElement>(null);
  const touch = useRef<number>(undefined);
  const [id, setId] = useState(start);
  const index = Math.max(
    videos.findIndex(({ task_id }) => task_id === id),
    0,
  );
  const video = videos[index];
  // Before the element is removed, so that the browser returns the focus.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  const go = (step: number): void => {
    const next = videos[(index + step + videos.length) % videos.length];
    if (next !== undefined) setId(next.task_id);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    // Otherwise the player would seek too.
    event.preventDefault();
    event.stopPropagation();
    go(step);
  };
  const onTouchEnd = ({ changedTouches }: TouchEvent): void => {
    const moved = (changedTouches[0]?.clientX ?? 0) - (touch.current ?? 0);
    if (touch.current !== undefined && Math.abs(moved) >= SWIPE_PX) go(moved < 0 ? 1 : -1);
    touch.current = undefined;
  };
  if (video === undefined) return null;
  const prompt = video.prompt === '' ? t('noPrompt') : video.prompt;
  return (
    <dialog
      ref={dialog}
      className="lightbox"
      aria-label={prompt}
      onClose={onClose}
      onKeyDownCapture={onKeyDown}
      onTouchStart={({ touches }) => {
        touch.current = touches.length === 1 ? touches[0]?.clientX : undefined;
      }}
      onTouchEnd={onTouchEnd}
    >
      <div className="lightbox-head">
        <Text size="sm" c="dimmed" role="status">
          {t('positionOf', { position: index + 1, count: videos.length })}
        </Text>
        <ActionIcon size="xl" aria-label={t('app:close')} onClick={onClose}>
          <IconX size={22} />
        </ActionIcon>
      </div>
      <div className="lightbox-stage">
        <LightboxVideo key={video.task_id} video={video} />
        {videos.length < 2 ? null : (
          <>
            <ActionIcon size="xl" className="lightbox-prev" aria-label={t('previousVideo')} onClick={() => go(-1)}>
              <IconChevronLeft size={26} />
            </ActionIcon>
            <ActionIcon size="xl" className="lightbox-next" aria-label={t('nextVideo')} onClick={() => go(1)}>
              <IconChevronRight size={26} />
            </ActionIcon>
          </>
        )}
      </div>
      <div className="lightbox-foot">
        <Text size="sm" lineClamp={3} title={video.prompt} style={{ overflowWrap: 'anywhere' }}>
          {prompt}
        </Text>
        <Group gap={6}>{actions(video)}</Group>
      </div>
    </dialog>
  );
}

function LightboxVideo({ video }: { readonly video: Video }) {
  const { src, renew } = useStablePlaybackSource(video.play_url);
  return (
    <video
      src={src}
      poster={video.poster_url === '' ? undefined : video.poster_url}
      aria-label={video.prompt}
      controls
      loop
      playsInline
      autoPlay={acceptsMotion()}
      muted={acceptsMotion()}
      onError={({ currentTarget }) => void renew(currentTarget)}
    />
  );
}
