import { Button, NativeSelect, Popover, Stack, TextInput } from '@mantine/core';
import { cloneElement, type ReactElement, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { INPUT_TYPES, type InputType } from '../../../contract/input-roles.ts';
import { useOpenedOnMount } from '../../components/lazy-dropdown-button.tsx';
import { inputTypeOfName } from '../../data/media-types.ts';

interface InputLinkProps {
  readonly target: ReactElement<{ onClick?: () => void }>;
  readonly onLink: (type: InputType, url: string) => void;
}

const isLink = (text: string): boolean => /^https?:\/\/\S+$/i.test(text.trim());
const pathOf = (url: string): string => url.trim().split(/[?#]/, 1)[0] ?? '';

/** Takes the URL of a file instead of the file. */
export default function InputLinkPopover({ target, onLink }: InputLinkProps) {
  const { t } = useTranslation('studio');
  const [link, setLink] = useState('');
  const [chosen, setChosen] = useState<InputType>();
  const [opened, setOpened] = useOpenedOnMount();
  const type = chosen ?? inputTypeOfName(pathOf(link)) ?? 'image';
  const use = (): void => {
    onLink(type, link.trim());
    setLink('');
    setOpened(false);
  };
  return (
    <Popover opened={opened} onChange={setOpened} trapFocus returnFocus width={280}>
      <Popover.Target>{cloneElement(target, { onClick: () => setOpened(!opened) })}</Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          <TextInput
            label={t('linkLabel')}
            placeholder="https://"
            type="url"
            value={link}
            onChange={(event) => setLink(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && isLink(link)) use();
            }}
          />
          <NativeSelect
            label={t('linkType')}
            data={INPUT_TYPES.map((value) => ({ value, label: t(`inputTypes.${value}`) }))}
            value={type}
            onChange={(event) => setChosen(event.currentTarget.value as InputType)}
          />
          <Button size="xs" disabled={!isLink(link)} onClick={use}>
            {t('useLink')}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
