import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyIconButton } from '../../components/copy-button.tsx';

/** A prompt with its copy button. */
export function Prompt({ text, lines }: { readonly text: string; readonly lines: number }) {
  const { t } = useTranslation('studio');
  return (
    <div className="prompt-text">
      <Text size="sm" lineClamp={lines} title={text} style={{ overflowWrap: 'anywhere' }}>
        {text === '' ? t('noPrompt') : text}
      </Text>
      {text === '' ? null : <CopyIconButton text={text} label={t('copyPrompt')} />}
    </div>
  );
}
