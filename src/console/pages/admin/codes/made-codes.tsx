import { Alert, Button, Code, CopyButton, Group, Stack } from '@mantine/core';
import { IconCheck, IconCopy, IconDownload } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { saveFile } from '../frame/save-file.ts';

interface MadeCodesProps {
  readonly codes: readonly string[];
  readonly batch: number;
  readonly onClose: () => void;
}

/** Codes nobody will see again. */
export function MadeCodes({ codes, batch, onClose }: MadeCodesProps) {
  const { t } = useTranslation(['plans', 'shell']);
  const text = codes.join('\n');
  const save = (): void => saveFile(`codes-${batch}.txt`, new Blob([`${text}\n`], { type: 'text/plain' }));
  return (
    <Stack>
      <Alert color="yellow" variant="light">
        {t('codes.once')}
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
              {copied ? t('shell:copied') : t('codes.copyAll')}
            </Button>
          )}
        </CopyButton>
        <Button variant="default" leftSection={<IconDownload size={16} />} onClick={save}>
          {t('codes.save')}
        </Button>
      </Group>
      <Button onClick={onClose}>{t('codes.copied')}</Button>
    </Stack>
  );
}
