import { ActionIcon, Code, Group, Text, Tooltip } from '@mantine/core';
import { IconEye, IconEyeOff } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyIconButton } from './copy-button-and-field.tsx';

/** A secret that is hidden until the user reveals it, so that bystanders cannot read it from the screen. */
export function RevealableSecretText({ label, text }: { readonly label: string; readonly text: string }) {
  const { t } = useTranslation('mailbox');
  const [shown, setShown] = useState(false);
  return (
    <div>
      <Text size="sm" fw={500} mb={2}>
        {label}
      </Text>
      <Group gap={4} wrap="nowrap" maw="100%">
        <Code fz="sm" px="sm" py={6} style={{ overflowWrap: 'anywhere' }}>
          {shown ? text : '•'.repeat(16)}
        </Code>
        <Tooltip label={shown ? t('hide') : t('show')}>
          <ActionIcon aria-label={`${shown ? t('hide') : t('show')}: ${label}`} onClick={() => setShown(!shown)}>
            {shown ? <IconEyeOff size={16} /> : <IconEye size={16} />}
          </ActionIcon>
        </Tooltip>
        <CopyIconButton text={text} />
      </Group>
    </div>
  );
}
