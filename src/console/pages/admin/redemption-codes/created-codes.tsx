import { Alert, Button, Code, CopyButton, Group, Stack } from '@mantine/core';
import { IconCheck, IconCopy, IconDownload } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { downloadFile } from '../../../data/download-file.ts';

interface CreatedCodesProps {
  readonly codes: readonly string[];
  readonly batch: number;
  readonly onClose: () => void;
}

/** New codes, which are shown only once. */
export function CreatedCodes({ codes, batch, onClose }: CreatedCodesProps) {
  const { t } = useTranslation(['admin-redemption-codes', 'app']);
  const text = codes.join('\n');
  const save = (): void => downloadFile(`codes-${batch}.txt`, new Blob([`${text}\n`], { type: 'text/plain' }));
  return (
    <Stack>
      <Alert color="yellow" variant="light">
        {t('once')}
      </Alert>
      <Code block mah={260} tabIndex={0} fz="sm" style={{ overflow: 'auto' }}>
        {text}
      </Code>
      <Group grow>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button
              variant="default"
              leftSection={copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
              onClick={copy}
            >
              {copied ? t('app:copied') : t('copyAll')}
            </Button>
          )}
        </CopyButton>
        <Button variant="default" leftSection={<IconDownload size={16} />} onClick={save}>
          {t('save')}
        </Button>
      </Group>
      <Button onClick={onClose}>{t('copied')}</Button>
    </Stack>
  );
}
