import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// Cloudscape's Open Sans is a third of the first page; the system's own font serves.
const withoutFonts: Plugin = {
  name: "without-fonts",
  enforce: "pre",
  transform(code, id) {
    return id.includes("global-styles/index.css") ? code.replace(/@font-face\s*{[^}]*}/g, "") : undefined;
  },
};

// The page is `<API>/console`, its files are `<API>/console/<name>-<hash>`: all addresses are relative, since the
// local stack's API has a path before them.
export default defineConfig({
  base: "./",
  plugins: [withoutFonts, react()],
  // The client's own code (tsconfig.json does the same by its condition): it needs no build before that of the page.
  resolve: {
    alias: { duecourse: fileURLToPath(new URL("../clients/typescript/src/index.ts", import.meta.url)) },
  },
  build: {
    outDir: "dist",
    emptyOutDir: true,
    assetsDir: "console",
    assetsInlineLimit: 0,
    sourcemap: false,
    target: "es2022",
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1500,
    // What most pages share is one file: it is loaded once, and compresses better than twenty.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 20, test: /node_modules/ }] } },
    },
  },
});
