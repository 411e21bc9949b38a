import { ActionIcon, Code, CopyButton, Group } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

interface CopyProps {
  readonly text: string;
  readonly label?: string | undefined;
  /** Takes the focus when it appears: copying is the next step. */
  readonly focused?: boolean;
}

/** A button that copies a text. */
export function CopyIconButton({ text, label, focused = false }: CopyProps) {
  const { t } = useTranslation();
  return (
    <CopyButton value={text} timeout={1500}>
      {({ copied, copy }) => (
        <ActionIcon
          // For a dialog that opens with it, and for one whose content changes to it.
          data-autofocus={focused || undefined}
          autoFocus={focused}
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

/** A secret or a setting with a copy button. */
export function CopyField({ text, label, focused }: CopyProps) {
  return (
    <Group gap={4} wrap="nowrap" maw="100%">
      <Code fz="sm" px="sm" py={6} style={{ overflowWrap: 'anywhere', userSelect: 'all' }}>
        {text}
      </Code>
      <CopyIconButton text={text} label={label} focused={focused} />
    </Group>
  );
}

/** Shows untrusted external data as plain text, limited in height with a scroll bar. */
export function JsonView({ value }: { readonly value: unknown }) {
  const text = JSON.stringify(value, null, 2) ?? '';
  return (
    <div style={{ position: 'relative' }}>
      <Code block mah={320} tabIndex={0} style={{ overflow: 'auto', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
        {text}
      </Code>
      <div style={{ position: 'absolute', top: 4, right: 4 }}>
        <CopyIconButton text={text} />
      </div>
    </div>
  );
}
