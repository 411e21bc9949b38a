import { AspectRatio, UnstyledButton } from '@mantine/core';
import { IconPlayerPlayFilled } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

interface VideoPosterProps {
  readonly src: string;
  readonly title: string;
  readonly onPlay: () => void;
  /** The picture cannot be shown. */
  readonly onError: () => void;
}

/** The poster of a video, which begins to play when it is pressed. */
export function VideoPoster({ src, title, onPlay, onError }: VideoPosterProps) {
  const { t } = useTranslation('studio');
  return (
    <UnstyledButton onClick={onPlay} aria-label={`${t('play')}: ${title}`} w="100%" pos="relative">
      <AspectRatio ratio={16 / 9} bg="dark.9" style={{ borderRadius: 10, overflow: 'hidden' }}>
        <img src={src} alt="" loading="lazy" onError={onError} style={{ display: 'block', objectFit: 'contain' }} />
      </AspectRatio>
      <IconPlayerPlayFilled
        size={40}
        color="white"
        aria-hidden
        style={{ position: 'absolute', inset: 0, margin: 'auto', filter: 'drop-shadow(0 1px 4px rgb(0 0 0 / 0.6))' }}
      />
    </UnstyledButton>
  );
}
