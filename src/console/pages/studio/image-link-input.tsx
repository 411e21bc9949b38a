import { Button, Popover, Stack, TextInput } from '@mantine/core';
import { cloneElement, type ReactElement, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useOpenedOnMount } from '../../components/lazy-dropdown-button.tsx';
import { isLink } from './image-files.ts';

interface ImageLinkProps {
  readonly target: ReactElement<{ onClick?: () => void }>;
  readonly onLink: (link: string) => void;
}

/** Takes the URL of an image instead of a file. */
export default function ImageLinkInput({ target, onLink }: ImageLinkProps) {
  const { t } = useTranslation('studio');
  const [link, setLink] = useState('');
  const [opened, setOpened] = useOpenedOnMount();
  const use = (): void => {
    onLink(link.trim());
    setLink('');
    setOpened(false);
  };
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus returnFocus width={280}>
      <Popover.Target>{cloneElement(target, { onClick: () => setOpened(!opened) })}</Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          <TextInput
            label={t('imageLink')}
            placeholder="https://"
            type="url"
            value={link}
            onChange={(event) => setLink(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && isLink(link)) use();
            }}
          />
          <Button size="xs" disabled={!isLink(link)} onClick={use}>
            {t('useLink')}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
