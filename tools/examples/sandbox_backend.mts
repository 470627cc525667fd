/*
 * sandbox_backend.mts MOUNT - serves a mount of sandboxfs to those who want a sandbox as three calls:
 * sandbox_backend.py in TypeScript.
 *
 *      const backend = await MountBackend.of("/mnt/sbx");
 *      await backend.uploadFiles([["/home/user/src/a.py", new TextEncoder().encode("print(1)")]]);
 *      await backend.downloadFiles(["/home/user/src/a.py"]);
 *      await backend.execute("python3 src/a.py");
 *
 * The calls are those that BaseSandbox of the package "deepagents" leaves to its subclasses:
 *
 *      class Sandbox extends BaseSandbox {
 *          mount: MountBackend;
 *          constructor(mount: MountBackend) { super(); this.mount = mount; }
 *          get id() { return this.mount.id; }
 *          execute(command: string) { return this.mount.execute(command); }
 *          uploadFiles(files: Array<[string, Uint8Array]>) { return this.mount.uploadFiles(files); }
 *          downloadFiles(paths: string[]) { return this.mount.downloadFiles(paths); }
 *      }
 *
 * Paths are those of the sandbox, absolute; what is not below the directory that the mount shows is
 * an invalid path. As a program it answers lines of JSON as sandbox_backend.py does. Node runs it as
 * it is from 22.18 on, and needs nothing else: of the package it takes types, which go before it runs.
 */
import type { BaseSandbox, ExecuteResponse, FileDownloadResponse, FileOperationError, FileUploadResponse } from "deepagents";
import { constants } from "node:fs";
import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { dirname, join, posix, resolve } from "node:path";
import { argv, stdin } from "node:process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const PIECE = 1 << 20;

const ERROR_CODES: Record<string, FileOperationError> = {
    ENOENT: "file_not_found",
    EACCES: "permission_denied",
    EPERM: "permission_denied",
    EROFS: "permission_denied",
    EISDIR: "is_directory",
    EINVAL: "invalid_path",
    ENOTDIR: "invalid_path",
    EEXIST: "invalid_path", // a parent is a file
    ENAMETOOLONG: "invalid_path",
};

/* Where the protocol has no code it is what went wrong, in words. */
function errorCode(error: unknown): FileOperationError {
    const { code, message } = error as NodeJS.ErrnoException;
    return ERROR_CODES[code ?? ""] ?? (message as FileOperationError);
}

function quoted(text: string): string {
    return `'${text.replaceAll("'", `'"'"'`)}'`;
}

export class MountBackend implements Pick<BaseSandbox, "id" | "execute" | "uploadFiles" | "downloadFiles"> {
    readonly mount: string;
    readonly id: string;
    readonly root: string;

    private constructor(mount: string, id: string, root: string) {
        this.mount = mount;
        this.id = id;
        this.root = root;
    }

    static async of(mount: string): Promise<MountBackend> {
        const whole = resolve(mount);
        const id = await readFile(join(whole, ".sandbox/id"), "ascii");
        const status = JSON.parse(await readFile(join(whole, ".sandbox/status"), "utf8"));
        return new MountBackend(whole, id.trimEnd(), status.root);
    }

    /** The sandbox has what has no error when this returns: all leave together, and are waited for once. */
    async uploadFiles(files: Array<[string, Uint8Array]>): Promise<FileUploadResponse[]> {
        const results: FileUploadResponse[] = [];
        for (const [path, content] of files)
            results.push({ path, error: await this.attempt(path, (local) => this.store(local, content)) });
        if (!(await this.sync()))
            for (const result of results)
                result.error ??= await this.attempt(result.path, (local) => this.arrived(local));
        return results;
    }

    async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
        const results: FileDownloadResponse[] = [];
        for (const path of paths) {
            let content: Uint8Array | null = null;
            const error = await this.attempt(path, async (local) => {
                content = await readFile(local);
            });
            results.push({ path, content, error });
        }
        return results;
    }

    /** A whole text for the sandbox's shell. `timeout` in seconds, then its exit code is 124; 0: the mount's own. */
    async execute(command: string, timeout = 0): Promise<ExecuteResponse> {
        const text = timeout ? `timeout -k 5 ${timeout} "$0" -c ${quoted(command)}` : command;
        try {
            const answer = JSON.parse(await this.run(text));
            return { output: answer.output || answer.error || "", exitCode: answer.exit_code, truncated: answer.truncated };
        } catch (error) {
            return { output: `the command did not run: ${(error as Error).message}`, exitCode: null, truncated: false };
        }
    }

    /* Whether the sandbox has everything. */
    private async sync(): Promise<boolean> {
        try {
            const sync = await open(join(this.mount, ".sandbox/sync"), "r+");
            try {
                await sync.write("1");
            } finally {
                await sync.close();
            }
            return true;
        } catch {
            return false;
        }
    }

    /* What was written runs at the first read, and what is read on the same handle is its own response. */
    private async run(command: string): Promise<string> {
        const handle = await open(join(this.mount, ".sandbox/exec"), constants.O_RDWR);
        const pieces: Buffer[] = [];
        try {
            for (let rest = Buffer.from(command); rest.length; )
                rest = rest.subarray((await handle.write(rest)).bytesWritten);
            for (;;) {
                const piece = Buffer.alloc(PIECE);
                const { bytesRead } = await handle.read(piece, 0, PIECE, null);
                if (!bytesRead) return Buffer.concat(pieces).toString();
                pieces.push(piece.subarray(0, bytesRead));
            }
        } finally {
            await handle.close();
        }
    }

    private async attempt(path: string, act: (local: string) => Promise<void>): Promise<FileOperationError | null> {
        try {
            const local = this.local(path);
            if (local === null) return "invalid_path";
            await act(local);
            return null;
        } catch (error) {
            return errorCode(error);
        }
    }

    /* Where the mount has it. `..` is taken away here: nothing may lead out of the mount. */
    private local(path: string): string | null {
        const below = posix.relative(this.root, posix.normalize(path));
        const leadsOut = below === ".." || below.startsWith("../");
        return !path.startsWith("/") || path.includes("\0") || leadsOut ? null : join(this.mount, below);
    }

    private async store(local: string, content: Uint8Array): Promise<void> {
        await mkdir(dirname(local), { recursive: true });
        await writeFile(local, content);
    }

    /* An error is this file's. */
    private async arrived(local: string): Promise<void> {
        const file = await open(local, "r");
        try {
            await file.sync();
        } finally {
            await file.close();
        }
    }
}

/* ---- As a program ---- */

async function answer(backend: MountBackend, request: Record<string, any>): Promise<unknown> {
    switch (request.call) {
        case "execute": {
            const { output, exitCode, truncated } = await backend.execute(request.command, request.timeout ?? 0);
            return { output, exit_code: exitCode, truncated };
        }
        case "upload_files": {
            const files = request.files as Array<[string, string]>;
            const results = await backend.uploadFiles(files.map(([path, content]) => [path, Buffer.from(content, "base64")]));
            return results.map((result) => ({ ...result, content: null }));
        }
        case "download_files": {
            const results = await backend.downloadFiles(request.paths);
            return results.map((result) => ({
                ...result,
                content: result.content && Buffer.from(result.content).toString("base64"),
            }));
        }
        default:
            return { error: `no such call: ${request.call}` };
    }
}

async function main(mount: string): Promise<void> {
    const backend = await MountBackend.of(mount);
    for await (const line of createInterface({ input: stdin })) console.log(JSON.stringify(await answer(backend, JSON.parse(line))));
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) await main(argv[2]!);
