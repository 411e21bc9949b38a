import { ActionIcon, Code, CopyButton, Group } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

/** A button that copies a text. */
export function CopyIconButton({ text, label }: { readonly text: string; readonly label?: string }) {
  const { t } = useTranslation();
  return (
    <CopyButton value={text} timeout={1500}>
      {({ copied, copy }) => (
        <ActionIcon
          data-hint={copied ? t('copied') : (label ?? t('copy'))}
          onClick={copy}
          aria-label={label ?? t('copy')}
          color={copied ? 'teal' : 'gray'}
        >
          {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
        </ActionIcon>
      )}
    </CopyButton>
  );
}

/** A secret or a setting, ready to copy. */
export function CopyField({ text, label }: { readonly text: string; readonly label?: string }) {
  return (
    <Group gap={4} wrap="nowrap" maw="100%">
      <Code fz="sm" px="sm" py={6} style={{ overflowWrap: 'anywhere', userSelect: 'all' }}>
        {text}
      </Code>
      <CopyIconButton text={text} label={label} />
    </Group>
  );
}
